(* Finite measures and their hockey-stick curves.

   A pair (P, Q) of finite measures on the same outcomes is the list of (P(y), Q(y)) over all
   outcomes y. Masses need not add up to 1: masses that were rounded up do not.

   Proven here, and where docs/theory/kernel.md uses it:
   - event_below, event_attains: H(t), the sum of max(0, p - t q), is the largest P(A) - t Q(A)
     over all events A ("Pairs", "Outcomes", and the tests from below);
   - H_convex, H_falls, H_at_0, H_above_line: the curve is convex and does not rise, starts at the
     total mass of P, and is at least P - t Q ("Pairs");
   - H_exchanged: the curve of the pair with P and Q exchanged ("Pairs");
   - masses_grow, losses_merge: Fact 2, delta grows with each mass at a fixed ratio, and if mass
     moves to a larger loss. *)

From Coq Require Import Reals List Lra Psatz.
Import ListNotations.
Open Scope R_scope.

(* Positive parts. *)

Definition pos (x : R) : R := Rmax 0 x.

Ltac pos_cases := unfold pos, Rmax in *; repeat destruct (Rle_dec _ _).

Lemma pos_nonneg x : 0 <= pos x.
Proof. pos_cases; lra. Qed.

Lemma pos_above x : x <= pos x.
Proof. pos_cases; lra. Qed.

Lemma pos_grows x y : x <= y -> pos x <= pos y.
Proof. intros; pos_cases; lra. Qed.

Lemma pos_of_positive x : 0 <= x -> pos x = x.
Proof. intros; pos_cases; lra. Qed.

Lemma pos_of_negative x : x <= 0 -> pos x = 0.
Proof. intros; pos_cases; lra. Qed.

Lemma pos_scaled c x : 0 <= c -> pos (c * x) = c * pos x.
Proof. intros; pos_cases; nra. Qed.

Lemma pos_of_sum x y : pos (x + y) <= pos x + pos y.
Proof. pos_cases; lra. Qed.

(* Pairs. *)

Definition pair := list (R * R).

Fixpoint H (A : pair) (t : R) : R :=
  match A with
  | [] => 0
  | (p, q) :: rest => pos (p - t * q) + H rest t
  end.

Definition proper (A : pair) : Prop := Forall (fun o => 0 <= fst o /\ 0 <= snd o) A.

Fixpoint sum (l : list R) : R :=
  match l with [] => 0 | x :: rest => x + sum rest end.

Definition mass_P (A : pair) : R := sum (map fst A).
Definition mass_Q (A : pair) : R := sum (map snd A).

(* The curve of one pair is nowhere above that of another: B dominates A. *)
Definition below (A B : pair) : Prop := forall t, 0 <= t -> H A t <= H B t.
Definition same (A B : pair) : Prop := forall t, 0 <= t -> H A t = H B t.

Lemma below_refl A : below A A.
Proof. intros t _; lra. Qed.

Lemma below_trans A B C : below A B -> below B C -> below A C.
Proof. intros ab bc t ht; specialize (ab t ht); specialize (bc t ht); lra. Qed.

Lemma same_below A B : same A B -> below A B.
Proof. intros s t ht; rewrite (s t ht); lra. Qed.

Lemma proper_cons p q A : proper ((p, q) :: A) <-> 0 <= p /\ 0 <= q /\ proper A.
Proof.
  unfold proper; split.
  - intros h; inversion h as [| ? ? both]; subst; simpl in both; tauto.
  - intros (a & b & c); constructor; simpl; auto.
Qed.

Lemma proper_app A B : proper A -> proper B -> proper (A ++ B).
Proof. intros; apply Forall_app; auto. Qed.

Lemma H_nonneg A t : 0 <= H A t.
Proof.
  induction A as [| [p q] A IH]; simpl; [lra |].
  pose proof (pos_nonneg (p - t * q)); lra.
Qed.

Lemma H_app A B t : H (A ++ B) t = H A t + H B t.
Proof. induction A as [| [p q] A IH]; simpl; [lra | rewrite IH; lra]. Qed.

(* An event is a choice of outcomes: its mass P(A) - t Q(A). *)
Fixpoint event (A : pair) (chosen : list bool) (t : R) : R :=
  match A, chosen with
  | (p, q) :: rest, c :: others => (if c then p - t * q else 0) + event rest others t
  | _, _ => 0
  end.

Theorem event_below A chosen t : event A chosen t <= H A t.
Proof.
  revert chosen; induction A as [| [p q] A IH]; intros [| c chosen]; simpl; try lra.
  - pose proof (pos_nonneg (p - t * q)); pose proof (H_nonneg A t); lra.
  - specialize (IH chosen); pose proof (pos_nonneg (p - t * q));
      pose proof (pos_above (p - t * q)); destruct c; lra.
Qed.

Theorem event_attains A t : exists chosen, length chosen = length A /\ event A chosen t = H A t.
Proof.
  induction A as [| [p q] A (chosen & len & IH)].
  - exists []; auto.
  - destruct (Rle_dec 0 (p - t * q)).
    + exists (true :: chosen); simpl; rewrite IH, len, pos_of_positive; auto.
    + exists (false :: chosen); simpl; rewrite IH, len, pos_of_negative; [auto | lra].
Qed.

Theorem H_convex A s t c : 0 <= c <= 1 ->
  H A ((1 - c) * s + c * t) <= (1 - c) * H A s + c * H A t.
Proof.
  intros hc; induction A as [| [p q] A IH]; simpl; [lra |].
  replace (p - ((1 - c) * s + c * t) * q)
    with ((1 - c) * (p - s * q) + c * (p - t * q)) by ring.
  pose proof (pos_of_sum ((1 - c) * (p - s * q)) (c * (p - t * q))) as two.
  rewrite !pos_scaled in two by lra; lra.
Qed.

Theorem H_falls A s t : proper A -> s <= t -> H A t <= H A s.
Proof.
  intros hA st; induction A as [| [p q] A IH]; simpl; [lra |].
  apply proper_cons in hA; destruct hA as (hp & hq & hA); specialize (IH hA).
  assert (pos (p - t * q) <= pos (p - s * q)) by (apply pos_grows; nra); lra.
Qed.

Theorem H_at_0 A : proper A -> H A 0 = mass_P A.
Proof.
  unfold mass_P; induction A as [| [p q] A IH]; simpl; intros hA; [lra |].
  apply proper_cons in hA; destruct hA as (hp & hq & hA).
  rewrite IH, pos_of_positive by (auto; lra); lra.
Qed.

Theorem H_above_line A t : mass_P A - t * mass_Q A <= H A t.
Proof.
  unfold mass_P, mass_Q; induction A as [| [p q] A IH]; simpl; [lra |].
  pose proof (pos_above (p - t * q)); lra.
Qed.

(* For t <= 0 there is nothing to cut off. *)
Lemma H_of_negative A t : proper A -> t <= 0 -> H A t = mass_P A - t * mass_Q A.
Proof.
  unfold mass_P, mass_Q; intros hA ht; induction A as [| [p q] A IH]; simpl; [lra |].
  apply proper_cons in hA; destruct hA as (hp & hq & hA).
  rewrite IH, pos_of_positive by (auto; nra); lra.
Qed.

Definition exchanged (A : pair) : pair := map (fun o => (snd o, fst o)) A.

Lemma proper_exchanged A : proper A -> proper (exchanged A).
Proof.
  induction A as [| [p q] A IH]; simpl; auto; rewrite !proper_cons; tauto.
Qed.

Theorem H_exchanged A t : 0 < t ->
  H (exchanged A) t = mass_Q A - t * mass_P A + t * H A (1 / t).
Proof.
  intros ht; unfold mass_P, mass_Q; induction A as [| [p q] A IH]; simpl; [lra |].
  rewrite IH.
  assert (pos (q - t * p) = q - t * p + t * pos (p - 1 / t * q)); [| lra].
  rewrite <- pos_scaled by lra.
  replace (t * (p - 1 / t * q)) with (t * p - q) by (field; lra).
  pos_cases; lra.
Qed.

(* Masses of losses: a mass m under P, and m v under Q. Here v = e^-loss, and an infinite loss has
   v = 0. *)

Definition of_losses (L : list (R * R)) : pair := map (fun o => (fst o, fst o * snd o)) L.

Definition masses_of (L : list (R * R)) : Prop := Forall (fun o => 0 <= fst o /\ 0 <= snd o) L.

Fixpoint delta (L : list (R * R)) (t : R) : R :=
  match L with
  | [] => 0
  | (m, v) :: rest => m * pos (1 - t * v) + delta rest t
  end.

Lemma proper_of_losses L : masses_of L -> proper (of_losses L).
Proof.
  induction L as [| [m v] L IH]; simpl; intros h; [constructor |].
  inversion h as [| ? ? both]; subst; simpl in both.
  apply proper_cons; repeat split; [lra | apply Rmult_le_pos; lra | auto].
Qed.

(* Delta is the sum of (1 - e^(epsilon - loss)) mass over larger losses. *)
Theorem H_of_losses L t : masses_of L -> H (of_losses L) t = delta L t.
Proof.
  induction L as [| [m v] L IH]; simpl; intros h; [auto |].
  inversion h as [| ? ? both]; subst; simpl in both.
  rewrite IH by auto.
  replace (m - t * (m * v)) with (m * (1 - t * v)) by ring.
  rewrite pos_scaled by lra; auto.
Qed.

(* Larger masses, of losses that are not smaller. *)
Definition more (o o' : R * R) : Prop := fst o <= fst o' /\ snd o' <= snd o.

Theorem masses_grow L L' :
  masses_of L -> masses_of L' -> Forall2 more L L' -> below (of_losses L) (of_losses L').
Proof.
  intros h h' hh t ht; rewrite !H_of_losses by auto.
  induction hh as [| [m v] [m' v'] L L' one hh IH]; simpl; [lra |].
  inversion h as [| ? ? both]; inversion h' as [| ? ? both']; subst; simpl in *.
  destruct one as [hm hv]; simpl in *; specialize (IH ltac:(auto) ltac:(auto)).
  assert (pos (1 - t * v) <= pos (1 - t * v')) by (apply pos_grows; nra).
  pose proof (pos_nonneg (1 - t * v)); nra.
Qed.

(* Outcomes of equal losses count together. *)
Theorem losses_merge m m' v L t : delta ((m, v) :: (m', v) :: L) t = delta ((m + m', v) :: L) t.
Proof. simpl; lra. Qed.

(* Every finite pair has losses: v = Q(y) / P(y); outcomes that P does not have count for nothing. *)
Theorem pair_has_losses A : proper A ->
  exists L, masses_of L /\ forall t, 0 <= t -> H A t = H (of_losses L) t.
Proof.
  induction A as [| [p q] A IH]; intros hA.
  - exists []; split; [constructor | auto].
  - apply proper_cons in hA; destruct hA as (hp & hq & hA).
    destruct (IH hA) as (L & hL & e); destruct (Rle_lt_or_eq_dec 0 p hp) as [pp | <-].
    + exists ((p, q / p) :: L); split.
      * constructor; simpl; auto; split; [lra |].
        apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra].
      * intros t ht; simpl; rewrite e by auto.
        replace (p * (q / p)) with q by (field; lra); auto.
    + exists L; split; auto; intros t ht; simpl; rewrite e, pos_of_negative by (auto; nra); lra.
Qed.
