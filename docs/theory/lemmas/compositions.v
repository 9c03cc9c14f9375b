(* Compositions: Fact 3 of docs/theory/kernel.md.

   Proven here:
   - product_formula: H_t(P1 x P2 || Q1 x Q2) = sum over y of P2(y) H_(t Q2(y) / P2(y))(P1 || Q1),
     and times_exchange: the order of the two does not matter;
   - times_below: the curve of a composition grows with the curve of either part;
   - joint_below: so it does if the second release is chosen after the outcome of the first was
     seen, and its curve is below one curve for every outcome;
   - adaptive_below: any number of releases, each chosen after all outcomes before it were seen,
     is below the product of the pairs that the releases are below;
   - product_permutation, power_add: equal pairs may be counted together, and T copies may be made
     by squaring. *)

From Coq Require Import Reals List Permutation Lra Psatz.
From Lemmas Require Import measures.
Import ListNotations.
Open Scope R_scope.

Definition scale (o : R * R) (A : pair) : pair := map (fun a => (fst o * fst a, snd o * snd a)) A.

(* A release with the outcome o, and then one whose pair may depend on o. *)
Definition joint (outs : list ((R * R) * pair)) : pair :=
  flat_map (fun one => scale (fst one) (snd one)) outs.

(* Two independent releases. *)
Definition times (A B : pair) : pair := flat_map (fun o => scale o B) A.

Lemma times_is_joint A B : times A B = joint (map (fun o => (o, B)) A).
Proof. unfold times, joint; induction A as [| o A IH]; simpl; [auto | rewrite IH; auto]. Qed.

Lemma proper_scale o A : 0 <= fst o -> 0 <= snd o -> proper A -> proper (scale o A).
Proof.
  intros h h'; induction A as [| [p q] A IH]; simpl; auto; rewrite !proper_cons; simpl.
  intros (a & b & c); repeat split; try apply Rmult_le_pos; auto.
Qed.

Lemma proper_joint outs :
  proper (map fst outs) -> (forall one, In one outs -> proper (snd one)) -> proper (joint outs).
Proof.
  induction outs as [| [[p q] B] outs IH]; simpl; intros h hs; [constructor |].
  apply proper_cons in h; destruct h as (hp & hq & h).
  apply proper_app; [apply proper_scale; auto |].
  - apply (hs ((p, q), B)); auto.
  - apply IH; auto.
Qed.

Lemma proper_times A B : proper A -> proper B -> proper (times A B).
Proof.
  intros hA hB; rewrite times_is_joint; apply proper_joint.
  - rewrite map_map; simpl; rewrite map_id; auto.
  - intros one hone; apply in_map_iff in hone; destruct hone as (o & <- & _); auto.
Qed.

(* p H(t q / p), which is 0 where p is 0. *)
Definition weighted (o : R * R) (A : pair) (t : R) : R :=
  if Req_EM_T (fst o) 0 then 0 else fst o * H A (t * snd o / fst o).

Lemma H_scale o A t : 0 <= fst o -> 0 <= snd o -> proper A -> 0 <= t ->
  H (scale o A) t = weighted o A t.
Proof.
  destruct o as [p q]; unfold weighted; simpl; intros hp hq hA ht.
  induction A as [| [a b] A IH]; simpl; [destruct (Req_EM_T p 0); lra |].
  apply proper_cons in hA; destruct hA as (ha & hb & hA); rewrite IH by auto.
  destruct (Req_EM_T p 0) as [-> | np].
  - assert (0 <= t * (q * b)) by (repeat apply Rmult_le_pos; auto).
    rewrite pos_of_negative; lra.
  - replace (p * a - t * (q * b)) with (p * (a - t * q / p * b)) by (field; auto).
    rewrite pos_scaled by lra; ring.
Qed.

Fixpoint mixed (outs : list ((R * R) * pair)) (t : R) : R :=
  match outs with [] => 0 | (o, B) :: rest => weighted o B t + mixed rest t end.

Lemma joint_formula outs t : proper (map fst outs) ->
  (forall one, In one outs -> proper (snd one)) -> 0 <= t -> H (joint outs) t = mixed outs t.
Proof.
  intros h hs ht; induction outs as [| [[p q] B] outs IH]; simpl; [auto |].
  simpl in h; apply proper_cons in h; destruct h as (hp & hq & h).
  rewrite H_app, H_scale; auto.
  - rewrite IH; auto; intros one hone; apply hs; simpl; auto.
  - apply (hs ((p, q), B)); simpl; auto.
Qed.

(* Here the second release is the one that is summed over. *)
Theorem product_formula A B t : proper A -> proper B -> 0 <= t ->
  H (times B A) t = fold_right (fun o s => weighted o A t + s) 0 B.
Proof.
  intros hA hB ht; rewrite times_is_joint, joint_formula; auto.
  - induction B as [| o B IH]; simpl; [auto |].
    destruct o; apply proper_cons in hB; rewrite IH; tauto.
  - rewrite map_map; simpl; rewrite map_id; auto.
  - intros one hone; apply in_map_iff in hone; destruct hone as (o & <- & _); auto.
Qed.

Lemma times_nil A : times A [] = [].
Proof. induction A; simpl; auto. Qed.

Theorem times_exchange A B t : H (times A B) t = H (times B A) t.
Proof.
  revert B; induction A as [| [p q] A IH]; intros B.
  - rewrite times_nil; auto.
  - assert (front : forall C, H (times C ((p, q) :: A)) t =
                              H (scale (p, q) C) t + H (times C A) t).
    { induction C as [| [a b] C IH']; simpl; [lra |].
      fold (times C ((p, q) :: A)); fold (times C A); rewrite !H_app, IH'.
      replace (a * p - t * (b * q)) with (p * a - t * (q * b)) by ring; ring. }
    simpl; fold (times A B); rewrite H_app, front, IH; auto.
Qed.

Lemma weighted_below o A B t : 0 <= fst o -> 0 <= snd o -> 0 <= t -> below A B ->
  weighted o A t <= weighted o B t.
Proof.
  destruct o as [p q]; unfold weighted; simpl; intros hp hq ht h.
  destruct (Req_EM_T p 0); [lra |].
  apply Rmult_le_compat_l; [auto |]; apply h.
  apply Rmult_le_pos; [apply Rmult_le_pos; auto |].
  left; apply Rinv_0_lt_compat; lra.
Qed.

Lemma times_below_right A B B' : proper A -> proper B -> proper B' -> below B B' ->
  below (times A B) (times A B').
Proof.
  intros hA hB hB' h t ht; rewrite !product_formula by auto.
  induction A as [| o A IH]; simpl; [lra |].
  destruct o as [p q]; apply proper_cons in hA; destruct hA as (hp & hq & hA).
  pose proof (weighted_below (p, q) B B' t hp hq ht h); specialize (IH hA); lra.
Qed.

Theorem times_below A A' B B' : proper A -> proper A' -> proper B -> proper B' ->
  below A A' -> below B B' -> below (times A B) (times A' B').
Proof.
  intros hA hA' hB hB' a b.
  apply below_trans with (times A B'); [apply times_below_right; auto |].
  intros t ht; rewrite (times_exchange A), (times_exchange A').
  apply times_below_right; auto.
Qed.

(* The second release is chosen after the first. *)
Theorem joint_below outs A B : proper (map fst outs) -> proper A -> proper B ->
  (forall one, In one outs -> proper (snd one) /\ below (snd one) B) ->
  below (map fst outs) A -> below (joint outs) (times A B).
Proof.
  intros h hA hB hs hbelow.
  apply below_trans with (times (map fst outs) B).
  - intros t ht; rewrite times_is_joint, !joint_formula; auto.
    + clear hbelow; induction outs as [| [[p q] C] outs IH]; simpl; [lra |].
      simpl in h; apply proper_cons in h; destruct h as (hp & hq & h).
      pose proof (hs ((p, q), C) ltac:(simpl; auto)) as [_ c]; simpl in c.
      pose proof (weighted_below (p, q) C B t hp hq ht c).
      specialize (IH h ltac:(intros one hone; apply hs; simpl; auto)); lra.
    + rewrite map_map; simpl; rewrite map_id; auto.
    + intros one hone; apply in_map_iff in hone; destruct hone as (o & <- & _); auto.
    + intros one hone; apply hs; auto.
  - apply times_below; auto; apply below_refl.
Qed.

(* Any number of releases. One that is over has one outcome. A release has outcomes, and after each
   of them a run of others, which may be different ones for different outcomes. *)
Inductive adaptive : list pair -> pair -> Prop :=
| finished : adaptive [] [(1, 1)]
| follows outs B Bs :
    proper (map fst outs) -> below (map fst outs) B ->
    (forall one, In one outs -> adaptive Bs (snd one)) ->
    adaptive (B :: Bs) (joint outs).

Definition product (Bs : list pair) : pair := fold_right times [(1, 1)] Bs.

Lemma proper_one : proper [(1, 1)].
Proof. apply proper_cons; repeat split; try lra; constructor. Qed.

Lemma proper_product Bs : Forall proper Bs -> proper (product Bs).
Proof.
  induction 1; simpl; [apply proper_one | apply proper_times; auto].
Qed.

Theorem adaptive_below Bs A : Forall proper Bs -> adaptive Bs A ->
  proper A /\ below A (product Bs).
Proof.
  intros hBs run; induction run as [| outs B Bs h b _ IH].
  - split; [apply proper_one | apply below_refl].
  - inversion hBs as [| ? ? hB hBs']; subst; split.
    + apply proper_joint; auto; intros one hone; apply (IH one hone hBs').
    + simpl; apply joint_below; auto; apply proper_product; auto.
Qed.

(* Powers and orders of releases, as the kernel's loop needs them. *)

Lemma scale_scale o o' A : scale o (scale o' A) = scale (fst o * fst o', snd o * snd o') A.
Proof.
  unfold scale; rewrite map_map; apply map_ext; intros [a b]; simpl; f_equal; ring.
Qed.

Lemma times_scale o A B : times (scale o A) B = scale o (times A B).
Proof.
  unfold times; induction A as [| a A IH]; simpl; [auto |].
  unfold scale at 4; rewrite map_app; fold (scale o (flat_map (fun a => scale a B) A)).
  rewrite IH; f_equal; symmetry; apply scale_scale.
Qed.

Theorem times_assoc A B C : times (times A B) C = times A (times B C).
Proof.
  induction A as [| a A IH]; simpl; [auto |].
  fold (times A B); fold (times A (times B C)); rewrite <- IH, <- times_scale.
  unfold times at 1; rewrite flat_map_app; auto.
Qed.

Lemma times_one A : times [(1, 1)] A = A.
Proof.
  unfold times, scale; simpl; rewrite app_nil_r.
  rewrite <- (map_id A) at 2; apply map_ext; intros [a b]; simpl; f_equal; ring.
Qed.

Lemma times_one_right A : times A [(1, 1)] = A.
Proof.
  induction A as [| [a c] A IH]; simpl; auto; fold (times A [(1, 1)]); rewrite IH.
  f_equal; f_equal; ring.
Qed.

Fixpoint power (A : pair) (n : nat) : pair :=
  match n with O => [(1, 1)] | S m => times A (power A m) end.

Lemma power_is_product A n : power A n = product (repeat A n).
Proof. induction n; simpl; [auto | f_equal; auto]. Qed.

Lemma proper_power A n : proper A -> proper (power A n).
Proof. intros; induction n; simpl; [apply proper_one | apply proper_times; auto]. Qed.

Theorem power_add A m n : power A (m + n) = times (power A m) (power A n).
Proof.
  induction m as [| m IH]; [symmetry; apply times_one |].
  simpl; rewrite IH, times_assoc; auto.
Qed.

Theorem product_permutation Bs Cs : Forall proper Bs -> Permutation Bs Cs ->
  below (product Bs) (product Cs).
Proof.
  intros h perm; induction perm as [| B Bs Cs perm IH | A B Cs | Bs Cs Ds p1 IH1 p2 IH2].
  - apply below_refl.
  - inversion h; subst; simpl; apply times_below; auto using below_refl, proper_product.
    apply proper_product; eapply Permutation_Forall; eauto.
  - inversion h as [| ? ? hB hBs]; inversion hBs; subst; simpl; rewrite <- !times_assoc.
    apply times_below; auto using proper_times, proper_product, below_refl.
    intros t _; rewrite times_exchange; lra.
  - apply below_trans with (product Cs); [auto |].
    apply IH2; eapply Permutation_Forall; eauto.
Qed.
