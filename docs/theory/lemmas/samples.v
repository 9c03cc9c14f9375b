(* Poisson samples: every record joins with probability q, independently of the others.

   Outcomes are a finite list, and a mechanism gives every list of records a distribution on it.
   Used in docs/theory/kernel.md under "Pairs" ("Sampled"), and by the kind "poisson".

   Proven here:
   - joint_convexity: the curve of a mixture is at most the mixture of the curves;
   - sampled_curve: that of (1 - q) Q + q P against Q is q H((t - 1 + q) / q), and 1 - t where that
     is below 0;
   - sampled_below, exchanged_below: it grows with the curve of (P, Q), and so does the curve of
     the members exchanged;
   - poisson_below: if with a record against without it a mechanism is below a pair (P, Q), then
     on Poisson samples of two data sets, one of which has a record more, it is below
     ((1 - q) Q + q P, Q) in one order, and below this with its members exchanged in the other. *)

From Coq Require Import Reals List Lra Psatz.
From Lemmas Require Import measures.
Import ListNotations.
Open Scope R_scope.

Definition probabilities (A : pair) : Prop := proper A /\ mass_P A = 1 /\ mass_Q A = 1.

Definition sampled (q : R) (A : pair) : pair :=
  map (fun o => ((1 - q) * snd o + q * fst o, snd o)) A.

Theorem sampled_curve q A t : 0 < q <= 1 -> probabilities A ->
  H (sampled q A) t = if Rle_dec (t - 1 + q) 0 then 1 - t else q * H A ((t - 1 + q) / q).
Proof.
  intros hq (hA & hP & hQ).
  assert (e : H (sampled q A) t = q * H A ((t - 1 + q) / q)).
  { clear hA hP hQ; induction A as [| [a b] A IH]; simpl; [ring |].
    rewrite IH, Rmult_plus_distr_l, <- pos_scaled by lra; f_equal; f_equal; field; lra. }
  destruct (Rle_dec (t - 1 + q) 0); auto.
  rewrite e, H_of_negative, hP, hQ; auto; [field; lra |].
  apply Rmult_le_reg_r with q; [lra |].
  replace ((t - 1 + q) / q * q) with (t - 1 + q) by (field; lra); lra.
Qed.

Lemma sampled_never A t : proper A -> H (sampled 0 A) t = pos (1 - t) * mass_Q A.
Proof.
  unfold mass_Q; induction A as [| [a b] A IH]; simpl; intros hA; [ring |].
  apply proper_cons in hA; destruct hA as (ha & hb & hA); rewrite IH by auto.
  replace ((1 - 0) * b + 0 * a - t * b) with (b * (1 - t)) by ring.
  rewrite pos_scaled by auto; ring.
Qed.

Lemma probabilities_sampled q A : 0 <= q <= 1 -> probabilities A -> probabilities (sampled q A).
Proof.
  unfold probabilities, mass_P, mass_Q; intros hq (hA & hP & hQ).
  assert (eP : sum (map fst (sampled q A)) = (1 - q) * sum (map snd A) + q * sum (map fst A)).
  { clear; induction A as [| [a b] A IH]; simpl; [ring | rewrite IH; ring]. }
  assert (eQ : map snd (sampled q A) = map snd A).
  { unfold sampled; rewrite map_map; auto. }
  rewrite eP, eQ, hP, hQ; repeat split; try ring.
  clear - hq hA; induction A as [| [a b] A IH]; simpl; [constructor |].
  apply proper_cons in hA; apply proper_cons; simpl; repeat split; try tauto; nra.
Qed.

Theorem sampled_below q A B : 0 <= q <= 1 -> probabilities A -> probabilities B -> below A B ->
  below (sampled q A) (sampled q B).
Proof.
  intros hq pA pB h t ht; destruct (Req_dec q 0) as [-> | nq].
  - destruct pA as (hA & _ & qA), pB as (hB & _ & qB).
    rewrite !sampled_never, qA, qB by auto; lra.
  - rewrite !sampled_curve by (auto; lra); destruct (Rle_dec (t - 1 + q) 0); [lra |].
    apply Rmult_le_compat_l; [lra |]; apply h.
    left; apply Rdiv_lt_0_compat; lra.
Qed.

Lemma probabilities_exchanged A : probabilities A -> probabilities (exchanged A).
Proof.
  intros (hA & hP & hQ); split; [apply proper_exchanged; auto |].
  unfold mass_P, mass_Q, exchanged in *; rewrite !map_map; simpl; auto.
Qed.

Theorem exchanged_below A B : probabilities A -> probabilities B -> below A B ->
  below (exchanged A) (exchanged B).
Proof.
  intros pA pB h t ht; destruct (Rle_lt_or_eq_dec 0 t ht) as [pt | <-].
  - pose proof pA as (_ & a & a'); pose proof pB as (_ & b & b').
    rewrite !H_exchanged, a, a', b, b' by auto.
    assert (0 <= 1 / t) by (left; apply Rdiv_lt_0_compat; lra).
    specialize (h (1 / t) ltac:(auto)); nra.
  - pose proof (probabilities_exchanged A pA) as (eA & a & _).
    pose proof (probabilities_exchanged B pB) as (eB & b & _).
    rewrite !H_at_0, a, b by auto; lra.
Qed.

Section Sampling.

Variables X Y : Type.
Variable outcomes : list Y.

(* A distribution gives each outcome its probability. *)
Definition law := Y -> R.

Definition total (P : law) : R := sum (map P outcomes).

Definition distribution (P : law) : Prop := (forall y, 0 <= P y) /\ total P = 1.

Definition versus (P Q : law) : pair := map (fun y => (P y, Q y)) outcomes.

Definition mix (c : R) (P P' : law) : law := fun y => (1 - c) * P y + c * P' y.

Theorem joint_convexity c P P' Q Q' t : 0 <= c <= 1 ->
  H (versus (mix c P P') (mix c Q Q')) t <=
  (1 - c) * H (versus P Q) t + c * H (versus P' Q') t.
Proof.
  unfold versus, mix; intros hc; induction outcomes as [| y ys IH]; simpl; [lra |].
  replace ((1 - c) * P y + c * P' y - t * ((1 - c) * Q y + c * Q' y))
    with ((1 - c) * (P y - t * Q y) + c * (P' y - t * Q' y)) by ring.
  pose proof (pos_of_sum ((1 - c) * (P y - t * Q y)) (c * (P' y - t * Q' y))) as two.
  rewrite !pos_scaled in two by lra; lra.
Qed.

Lemma mix_below c P P' Q Q' B : 0 <= c <= 1 -> below (versus P Q) B -> below (versus P' Q') B ->
  below (versus (mix c P P') (mix c Q Q')) B.
Proof.
  intros hc a b t ht; pose proof (joint_convexity c P P' Q Q' t hc).
  specialize (a t ht); specialize (b t ht); nra.
Qed.

Lemma mix_distribution c P P' : 0 <= c <= 1 -> distribution P -> distribution P' ->
  distribution (mix c P P').
Proof.
  intros hc (hP & tP) (hP' & tP'); split.
  - intros y; specialize (hP y); specialize (hP' y); unfold mix; nra.
  - assert (total (mix c P P') = (1 - c) * total P + c * total P') as ->.
    { unfold total, mix; induction outcomes; simpl; [ring | rewrite IHl; ring]. }
    rewrite tP, tP'; ring.
Qed.

Lemma versus_probabilities P Q : distribution P -> distribution Q -> probabilities (versus P Q).
Proof.
  intros (hP & tP) (hQ & tQ); unfold probabilities, mass_P, mass_Q, versus.
  rewrite !map_map; simpl; split; [| split; [exact tP | exact tQ]].
  apply Forall_forall; intros o ho; apply in_map_iff in ho; destruct ho as (y & <- & _); simpl; auto.
Qed.

Variable q : R.
Hypothesis q_is_a_probability : 0 <= q <= 1.

(* A mechanism gives every list of records a distribution. *)
Variable M : list X -> law.
Hypothesis M_distribution : forall S, distribution (M S).

(* The mechanism's output on a Poisson sample of D, after the records S were taken. *)
Fixpoint on_sample (D S : list X) : law :=
  match D with
  | [] => M S
  | x :: others => mix q (on_sample others S) (on_sample others (S ++ [x]))
  end.

Lemma on_sample_distribution D S : distribution (on_sample D S).
Proof.
  revert S; induction D; simpl; intros; [apply M_distribution | apply mix_distribution; auto].
Qed.

(* Of the mechanism itself: with the record x against without it, it is below a pair. *)
Variable x : X.
Variable B : pair.
Hypothesis B_probabilities : probabilities B.
Hypothesis M_below : forall S S', below (versus (M (S ++ x :: S')) (M (S ++ S'))) B.

Lemma taken_below D S S' :
  below (versus (on_sample D (S ++ x :: S')) (on_sample D (S ++ S'))) B.
Proof.
  revert S'; induction D as [| y D IH]; simpl; intros S'; [apply M_below |].
  apply mix_below; auto; rewrite <- !app_assoc; apply IH.
Qed.

Lemma with_against_without D D' S :
  below (versus (on_sample (D ++ x :: D') S) (on_sample (D ++ D') S)) (sampled q B).
Proof.
  revert S; induction D as [| y D IH]; intros S; simpl; [| apply mix_below; auto].
  set (P := on_sample D' (S ++ [x])); set (Q := on_sample D' S).
  assert (versus (mix q Q P) Q = sampled q (versus P Q)) as ->.
  { unfold versus, sampled, mix; rewrite map_map; auto. }
  apply sampled_below; auto.
  - apply versus_probabilities; apply on_sample_distribution.
  - pose proof (taken_below D' S []) as h; rewrite app_nil_r in h; apply h.
Qed.

Theorem poisson_below D D' :
  below (versus (on_sample (D ++ x :: D') []) (on_sample (D ++ D') [])) (sampled q B) /\
  below (versus (on_sample (D ++ D') []) (on_sample (D ++ x :: D') []))
    (exchanged (sampled q B)).
Proof.
  pose proof (with_against_without D D' []) as h; split; [exact h |].
  assert (e : forall P Q, versus Q P = exchanged (versus P Q)).
  { intros; unfold versus, exchanged; rewrite map_map; auto. }
  rewrite e.
  apply exchanged_below; auto.
  - apply versus_probabilities; apply on_sample_distribution.
  - apply probabilities_sampled; auto.
Qed.

End Sampling.
