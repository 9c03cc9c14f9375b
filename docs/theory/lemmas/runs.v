(* Releases with any outcomes: real numbers, vectors, whatever has an integral.

   A release is a pair of densities p and q on its outcomes, with an integral of functions between
   0 and multiples of p. Of the integral only this is used: it grows with the function, is at most
   additive, and at most scales. Integrals for a measure do that, and so do upper integrals, which
   every function has, so that nothing has to be measurable. Finite sums are an example.

   Proven here, for Fact 3 of docs/theory/kernel.md:
   - process_below: releases that are chosen one after the other, each after all outcomes before
     it were seen, are together below the product of finite pairs that they are below. *)

From Coq Require Import Reals List Lra Lia.
From Lemmas Require Import measures compositions.
Import ListNotations.
Open Scope R_scope.

Record release := {
  outcome : Type;
  p : outcome -> R;
  q : outcome -> R;
  integral : (outcome -> R) -> R;
  p_nonneg : forall y, 0 <= p y;
  q_nonneg : forall y, 0 <= q y;
  integral_grows : forall f g c, (forall y, 0 <= f y <= g y) -> (forall y, g y <= c * p y) ->
    integral f <= integral g;
  integral_adds : forall f g c, (forall y, 0 <= f y <= c * p y) -> (forall y, 0 <= g y <= c * p y) ->
    integral (fun y => f y + g y) <= integral f + integral g;
  integral_scales : forall f a c, 0 <= a -> (forall y, 0 <= f y <= c * p y) ->
    integral (fun y => a * f y) <= a * integral f }.

(* The curve of a release: the integral of max(0, p - t q). *)
Definition curve_of (r : release) (t : R) : R := integral r (fun y => pos (p r y - t * q r y)).

(* Releases one after the other: after each outcome there may be other ones. *)
Inductive process :=
| finished_process : process
| released_first : forall r : release, (outcome r -> process) -> process.

(* The integral of max(0, a p - c q) over all outcomes of a process, where p and q are products of
   the densities of what was released. With a = 1 and c = t it is the curve of the process. *)
Fixpoint excess (s : process) (a c : R) : R :=
  match s with
  | finished_process => pos (a - c)
  | released_first r next => integral r (fun y => excess (next y) (a * p r y) (c * q r y))
  end.

Definition curve_of_process (s : process) (t : R) : R := excess s 1 t.

(* Each release is below its pair, whatever the outcomes before it were. *)
Fixpoint each_below (Bs : list pair) (s : process) : Prop :=
  match s, Bs with
  | finished_process, [] => True
  | released_first r next, B :: others =>
      (forall t, 0 <= t -> curve_of r t <= H B t) /\ (forall y, each_below others (next y))
  | _, _ => False
  end.

(* The same sum for a finite pair. *)
Fixpoint excess_of (B : pair) (a c : R) : R :=
  match B with [] => 0 | (x, y) :: rest => pos (a * x - c * y) + excess_of rest a c end.

Lemma excess_of_nonneg B a c : 0 <= excess_of B a c.
Proof.
  induction B as [| [x y] B IH]; simpl; [lra |]; pose proof (pos_nonneg (a * x - c * y)); lra.
Qed.

Lemma excess_of_most B a c : proper B -> 0 <= a -> 0 <= c -> excess_of B a c <= a * mass_P B.
Proof.
  unfold mass_P; intros hB ha hc; induction B as [| [x y] B IH]; simpl; [lra |].
  apply proper_cons in hB; destruct hB as (hx & hy & hB); specialize (IH hB).
  assert (pos (a * x - c * y) <= a * x); [| lra].
  assert (0 <= a * x) by (apply Rmult_le_pos; auto).
  assert (0 <= c * y) by (apply Rmult_le_pos; auto); pos_cases; lra.
Qed.

Lemma excess_of_H B t : excess_of B 1 t = H B t.
Proof. induction B as [| [x y] B IH]; simpl; [auto |]; rewrite IH, Rmult_1_l; auto. Qed.

Lemma excess_of_scaled B a t : 0 < a -> excess_of B a (a * t) = a * H B t.
Proof.
  intros ha; induction B as [| [x y] B IH]; simpl; [ring |]; rewrite IH.
  replace (a * x - a * t * y) with (a * (x - t * y)) by ring; rewrite pos_scaled by lra; ring.
Qed.

Lemma excess_of_app A B a c : excess_of (A ++ B) a c = excess_of A a c + excess_of B a c.
Proof. induction A as [| [x y] A IH]; simpl; [lra | rewrite IH; lra]. Qed.

Lemma excess_of_scale o B a c : excess_of (scale o B) a c = excess_of B (a * fst o) (c * snd o).
Proof.
  induction B as [| [x y] B IH]; simpl; auto; rewrite IH; f_equal; f_equal; ring.
Qed.

Section One.

Variable r : release.

(* What is integrated is between 0 and a multiple of p. *)
Lemma part_bounded a c : 0 <= a -> 0 <= c -> forall y, 0 <= pos (a * p r y - c * q r y) <= a * p r y.
Proof.
  intros ha hc y; pose proof (p_nonneg r y); pose proof (q_nonneg r y).
  assert (0 <= a * p r y) by (apply Rmult_le_pos; auto).
  assert (0 <= c * q r y) by (apply Rmult_le_pos; auto); pos_cases; lra.
Qed.

Lemma scaled_below B a c : proper B -> 0 <= a -> 0 <= c ->
  (forall t, 0 <= t -> curve_of r t <= H B t) ->
  integral r (fun y => pos (a * p r y - c * q r y)) <= excess_of B a c.
Proof.
  intros hB ha hc h; destruct (Rle_lt_or_eq_dec 0 a ha) as [pa | <-].
  - assert (ht : 0 <= c / a) by (apply Rmult_le_pos; [| left; apply Rinv_0_lt_compat]; auto).
    replace (excess_of B a c) with (a * H B (c / a))
      by (rewrite <- excess_of_scaled by auto; f_equal; field; lra).
    apply Rle_trans with (a * curve_of r (c / a)); [| apply Rmult_le_compat_l; auto].
    pose proof (part_bounded 1 (c / a) ltac:(lra) ht) as unit.
    unfold curve_of; eapply Rle_trans; [| apply (integral_scales r _ a 1); auto].
    + apply (integral_grows r) with (c := a); intros y.
      * pose proof (part_bounded a c ha hc y); split; [tauto |].
        rewrite <- pos_scaled by auto; right; f_equal; field; lra.
      * specialize (unit y); rewrite Rmult_1_l in unit; nra.
    + intros y; specialize (unit y); rewrite !Rmult_1_l in *; auto.
  - apply Rle_trans with (integral r (fun y => 0 * pos (p r y - c * q r y))).
    + apply (integral_grows r) with (c := 0); intros y; [| lra].
      pose proof (part_bounded 0 c ltac:(lra) hc y); lra.
    + pose proof (part_bounded 1 c ltac:(lra) hc) as unit.
      eapply Rle_trans; [apply (integral_scales r _ 0 1); [lra |] |].
      * intros y; specialize (unit y); rewrite !Rmult_1_l in *; auto.
      * pose proof (excess_of_nonneg B 0 c); lra.
Qed.

(* First this release, and then a finite pair. *)
Lemma sum_below A B a c : proper A -> proper B -> 0 <= a -> 0 <= c ->
  (forall t, 0 <= t -> curve_of r t <= H A t) ->
  integral r (fun y => excess_of B (a * p r y) (c * q r y)) <= excess_of (times B A) a c.
Proof.
  intros hA hB ha hc h; induction B as [| [x z] B IH]; simpl.
  - eapply Rle_trans; [apply (integral_grows r) with (g := fun y => 0 * 0) (c := 0) |].
    + intros y; lra.
    + intros y; pose proof (p_nonneg r y); lra.
    + eapply Rle_trans; [apply (integral_scales r (fun _ => 0) 0 0); [lra |] |]; [| lra].
      intros y; pose proof (p_nonneg r y); lra.
  - apply proper_cons in hB; destruct hB as (hx & hz & hB); specialize (IH hB).
    rewrite excess_of_app, excess_of_scale; simpl; fold (times B A).
    assert (hax : 0 <= a * x) by (apply Rmult_le_pos; auto).
    assert (hcz : 0 <= c * z) by (apply Rmult_le_pos; auto).
    assert (mB : 0 <= mass_P B) by (rewrite <- H_at_0 by auto; apply H_nonneg).
    assert (first : forall y, 0 <= pos (a * p r y * x - c * q r y * z) <= a * x * p r y).
    { intros y; pose proof (part_bounded (a * x) (c * z) hax hcz y).
      replace (a * p r y * x - c * q r y * z) with (a * x * p r y - c * z * q r y) by ring; auto. }
    assert (others : forall y, 0 <= excess_of B (a * p r y) (c * q r y) <= a * mass_P B * p r y).
    { intros y; pose proof (p_nonneg r y); pose proof (q_nonneg r y); split.
      - apply excess_of_nonneg.
      - eapply Rle_trans; [apply excess_of_most; auto; apply Rmult_le_pos; auto |]; right; ring. }
    eapply Rle_trans; [apply (integral_adds r _ _ (a * x + a * mass_P B)) |].
    + intros y; specialize (first y); pose proof (p_nonneg r y).
      assert (0 <= a * mass_P B * p r y) by (repeat apply Rmult_le_pos; auto); lra.
    + intros y; specialize (others y); pose proof (p_nonneg r y).
      assert (0 <= a * x * p r y) by (apply Rmult_le_pos; auto); lra.
    + apply Rplus_le_compat; auto.
      eapply Rle_trans; [| apply (scaled_below A (a * x) (c * z)); auto].
      apply (integral_grows r) with (c := a * x); intros y.
      * split; [apply first |]; right; f_equal; ring.
      * apply part_bounded; auto.
Qed.

End One.

Lemma excess_of_exchange A B a c : proper A -> proper B -> 0 <= a -> 0 <= c ->
  excess_of (times A B) a c = excess_of (times B A) a c.
Proof.
  intros hA hB ha hc; destruct (Rle_lt_or_eq_dec 0 a ha) as [pa | <-].
  - replace c with (a * (c / a)) by (field; lra).
    rewrite !excess_of_scaled, times_exchange by auto; auto.
  - pose proof (excess_of_most (times A B) 0 c); pose proof (excess_of_nonneg (times A B) 0 c).
    pose proof (excess_of_most (times B A) 0 c); pose proof (excess_of_nonneg (times B A) 0 c).
    rewrite !Rmult_0_l in *.
    apply Rle_antisym; eapply Rle_trans; eauto using proper_times.
Qed.

Lemma process_excess s : forall Bs, Forall proper Bs -> each_below Bs s ->
  forall a c, 0 <= a -> 0 <= c -> 0 <= excess s a c <= excess_of (product Bs) a c.
Proof.
  induction s as [| r next IH]; intros [| B Bs] hBs h a c ha hc; simpl in h; try tauto.
  - simpl; rewrite !Rmult_1_r; pose proof (pos_nonneg (a - c)); lra.
  - destruct h as [hB hs]; inversion hBs as [| ? ? pB pBs]; subst.
    assert (pP : proper (product Bs)) by (apply proper_product; auto).
    set (most := a * mass_P (product Bs)).
    assert (later : forall y, 0 <= excess (next y) (a * p r y) (c * q r y) <=
                              excess_of (product Bs) (a * p r y) (c * q r y)).
    { intros y; apply IH; auto; apply Rmult_le_pos; auto using p_nonneg, q_nonneg. }
    assert (bounded : forall y, excess_of (product Bs) (a * p r y) (c * q r y) <= most * p r y).
    { intros y; eapply Rle_trans; [apply excess_of_most; auto |].
      - apply Rmult_le_pos; auto using p_nonneg.
      - apply Rmult_le_pos; auto using q_nonneg.
      - unfold most; right; ring. }
    simpl; split.
    + (* The integral of 0 is 0, since it is at most twice itself. *)
      assert (nothing : forall y, 0 <= (fun _ : outcome r => 0) y <= 0 * p r y)
        by (intros y; simpl; lra).
      pose proof (integral_adds r _ _ 0 nothing nothing) as twice; simpl in twice.
      assert (integral r (fun _ => 0) <= integral r (fun _ => 0 + 0)).
      { apply (integral_grows r) with (c := 0); intros y; lra. }
      apply Rle_trans with (integral r (fun _ => 0)); [lra |].
      apply (integral_grows r) with (c := most); intros y; [split; [lra | apply later] |].
      eapply Rle_trans; [apply later | apply bounded].
    + eapply Rle_trans; [apply (integral_grows r) with (c := most); [apply later | apply bounded] |].
      fold (product Bs); rewrite excess_of_exchange by auto; apply sum_below; auto.
Qed.

Theorem process_below Bs s t : Forall proper Bs -> each_below Bs s -> 0 <= t ->
  curve_of_process s t <= H (product Bs) t.
Proof.
  intros hBs h ht; rewrite <- excess_of_H; apply process_excess; auto; lra.
Qed.

(* A finite pair is such a release. *)

Lemma nth_proper A i : proper A -> 0 <= fst (nth i A (0, 0)) /\ 0 <= snd (nth i A (0, 0)).
Proof.
  intros hA; revert i; induction hA; intros [| i]; simpl; auto; lra.
Qed.

Definition finite_release (A : pair) (hA : proper A) : release.
Proof.
  refine {| outcome := nat;
            p := fun i => fst (nth i A (0, 0));
            q := fun i => snd (nth i A (0, 0));
            integral := fun f => sum (map f (seq 0 (length A))) |}.
  - intros i; apply nth_proper; auto.
  - intros i; apply nth_proper; auto.
  - intros f g c fg _; induction (seq 0 (length A)); simpl; [lra |]; specialize (fg a); lra.
  - intros f g c _ _; induction (seq 0 (length A)); simpl; lra.
  - intros f a c _ _; induction (seq 0 (length A)); simpl; lra.
Defined.

Theorem finite_release_curve A hA t : curve_of (finite_release A hA) t = H A t.
Proof.
  unfold curve_of; simpl; clear hA; induction A as [| [x y] A IH]; simpl; auto.
  rewrite <- IH, <- seq_shift, map_map; auto.
Qed.
