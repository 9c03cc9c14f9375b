(* Poisson samples: every record joins with probability q, independently of the others.

   A mechanism gives every list of records a density on outcomes, which may be anything that has an
   integral: linear, and growing with the function. Finite sums are an example, at the end.
   Used in docs/theory/kernel.md under "Pairs" ("Sampled", members exchanged).

   Proven here:
   - curve_of_laws: the curve of two distributions is one as chords.v wants it;
   - joint_convexity: the curve of a mixture is at most the mixture of the curves;
   - sampled_below: that of (1 - q) Q + q P against Q is at most q f((t - 1 + q) / q), and 1 - t
     where that is below 0, if that of P against Q is at most f;
   - reversed_below: then that of Q against P is at most 1 - t + t f(1 / t);
   - poisson_below: if a mechanism with a record against without it is below a curve, then on
     Poisson samples of two data sets, one of which has a record more, it is below the sampled
     curve in one order, and below the reversed sampled curve in the other. *)

From Coq Require Import Reals List Lra Psatz.
From Lemmas Require Import measures chords.
Import ListNotations.
Open Scope R_scope.

(* What the kernel evaluates for pairs of these kinds. *)
Definition sampled_of (q : R) (f : R -> R) (t : R) : R :=
  if Rle_dec (t - 1 + q) 0 then 1 - t else q * f ((t - 1 + q) / q).

Definition reversed_of (f : R -> R) (t : R) : R := 1 - t + t * f (1 / t).

Section Sampling.

Variables X Y : Type.

(* A density gives each outcome a number. *)
Definition law := Y -> R.

Variable integrable : law -> Prop.
Variable integral : law -> R.
Hypothesis integrable_same : forall f g, (forall y, f y = g y) -> integrable f -> integrable g.
Hypothesis integrable_sum : forall f g a c,
  integrable f -> integrable g -> integrable (fun y => a * f y + c * g y).
Hypothesis integrable_pos : forall f, integrable f -> integrable (fun y => pos (f y)).
Hypothesis integral_sum : forall f g a c, integrable f -> integrable g ->
  integral (fun y => a * f y + c * g y) = a * integral f + c * integral g.
Hypothesis integral_grows : forall f g, integrable f -> integrable g ->
  (forall y, f y <= g y) -> integral f <= integral g.

Definition distribution (P : law) : Prop :=
  integrable P /\ (forall y, 0 <= P y) /\ integral P = 1.

Definition versus (P Q : law) (t : R) : R := integral (fun y => pos (P y - t * Q y)).

Definition below_curve (P Q : law) (f : R -> R) : Prop := forall t, 0 <= t -> versus P Q t <= f t.

Definition mix (c : R) (P P' : law) : law := fun y => (1 - c) * P y + c * P' y.

Lemma integral_same f g : integrable f -> (forall y, f y = g y) -> integral f = integral g.
Proof.
  intros hf e; assert (integrable g) by (apply integrable_same with f; auto).
  apply Rle_antisym; apply integral_grows; auto; intros; rewrite e; lra.
Qed.

Lemma part_integrable P Q t : integrable P -> integrable Q ->
  integrable (fun y => pos (P y - t * Q y)).
Proof.
  intros hP hQ; apply integrable_pos.
  apply integrable_same with (fun y => 1 * P y + - t * Q y); auto; intros; ring.
Qed.

(* An integral of a sum of two, where the sum is written in another way. *)
Lemma integral_as f g a c h : integrable f -> integrable g ->
  (forall y, h y = a * f y + c * g y) -> integral h = a * integral f + c * integral g.
Proof.
  intros hf hg e; rewrite <- integral_sum by auto; symmetry.
  apply integral_same; auto; intros; rewrite e; auto.
Qed.

Lemma integral_most f g a c h : integrable f -> integrable g -> integrable h ->
  (forall y, h y <= a * f y + c * g y) -> integral h <= a * integral f + c * integral g.
Proof. intros; rewrite <- integral_sum by auto; apply integral_grows; auto. Qed.

Theorem curve_of_laws P Q : distribution P -> distribution Q -> is_curve (versus P Q).
Proof.
  intros (iP & pP & tP) (iQ & pQ & tQ); unfold versus; split; [| split; [| split]].
  - intros s t c _ _ hc; apply integral_most; auto using part_integrable; intros y.
    pose proof (pos_of_sum ((1 - c) * (P y - s * Q y)) (c * (P y - t * Q y))) as two.
    rewrite !pos_scaled in two by lra; eapply Rle_trans; [right | exact two]; f_equal; ring.
  - intros s t _ st; apply integral_grows; auto using part_integrable.
    intros y; apply pos_grows; specialize (pQ y); nra.
  - intros t _; pose proof (integral_as P P 0 0 (fun _ => 0) iP iP ltac:(intros; simpl; ring)) as zero.
    replace 0 with (integral (fun _ => 0)) by (rewrite zero; ring).
    apply integral_grows; auto using part_integrable, pos_nonneg.
    apply integrable_same with (fun y => 0 * P y + 0 * P y); auto; intros; ring.
  - rewrite (integral_as P P 1 0); auto; [rewrite tP; ring |].
    intros y; rewrite pos_of_positive; [ring | specialize (pP y); lra].
Qed.

Lemma integrable_mix c P P' : integrable P -> integrable P' -> integrable (mix c P P').
Proof. intros; apply integrable_sum; auto. Qed.

Lemma mix_distribution c P P' : 0 <= c <= 1 -> distribution P -> distribution P' ->
  distribution (mix c P P').
Proof.
  intros hc (iP & pP & tP) (iP' & pP' & tP'); split; [apply integrable_mix; auto | split].
  - intros y; specialize (pP y); specialize (pP' y); unfold mix; nra.
  - unfold mix; rewrite integral_sum, tP, tP' by auto; ring.
Qed.

Theorem joint_convexity c P P' Q Q' t : 0 <= c <= 1 ->
  integrable P -> integrable P' -> integrable Q -> integrable Q' ->
  versus (mix c P P') (mix c Q Q') t <= (1 - c) * versus P Q t + c * versus P' Q' t.
Proof.
  intros hc iP iP' iQ iQ'; unfold versus.
  apply integral_most; auto using part_integrable, integrable_mix; unfold mix; intros y.
  pose proof (pos_of_sum ((1 - c) * (P y - t * Q y)) (c * (P' y - t * Q' y))) as two.
  rewrite !pos_scaled in two by lra; eapply Rle_trans; [right | exact two]; f_equal; ring.
Qed.

Lemma mix_below c P P' Q Q' f : 0 <= c <= 1 ->
  distribution P -> distribution P' -> distribution Q -> distribution Q' ->
  below_curve P Q f -> below_curve P' Q' f -> below_curve (mix c P P') (mix c Q Q') f.
Proof.
  intros hc (iP & _) (iP' & _) (iQ & _) (iQ' & _) a b t ht.
  pose proof (joint_convexity c P P' Q Q' t hc iP iP' iQ iQ').
  specialize (a t ht); specialize (b t ht); nra.
Qed.

Theorem sampled_below q P Q f : 0 <= q <= 1 -> distribution P -> distribution Q ->
  below_curve P Q f -> below_curve (mix q Q P) Q (sampled_of q f).
Proof.
  intros hq (iP & pP & tP) (iQ & pQ & tQ) h t ht; unfold sampled_of, versus, mix.
  destruct (Rle_dec (t - 1 + q) 0) as [low | high].
  - rewrite (integral_as Q P (1 - q - t) q); auto; [rewrite tP, tQ; lra |].
    intros y; specialize (pP y); specialize (pQ y).
    rewrite pos_of_positive; [ring |]; assert (0 <= q * P y) by nra; nra.
  - destruct (Req_dec q 0) as [-> | nq].
    + rewrite (integral_as Q P 0 0); auto; [lra |].
      intros y; specialize (pQ y); rewrite pos_of_negative; [ring | nra].
    + assert (hs : 0 <= (t - 1 + q) / q) by (left; apply Rdiv_lt_0_compat; lra).
      rewrite (integral_as (fun y => pos (P y - (t - 1 + q) / q * Q y)) Q q 0);
        auto using part_integrable.
      * specialize (h _ hs); unfold versus in h; nra.
      * intros y; rewrite <- pos_scaled, Rmult_0_l, Rplus_0_r by lra; f_equal; field; lra.
Qed.

Theorem reversed_below P Q f : distribution P -> distribution Q -> below_curve P Q f ->
  below_curve Q P (reversed_of f).
Proof.
  intros (iP & pP & tP) (iQ & pQ & tQ) h t ht; unfold reversed_of, versus.
  destruct (Rle_lt_or_eq_dec 0 t ht) as [pt | <-].
  - assert (hs : 0 <= 1 / t) by (left; apply Rdiv_lt_0_compat; lra).
    rewrite (integral_as (fun y => 1 * Q y + - t * P y) (fun y => pos (P y - 1 / t * Q y)) 1 t);
      auto using part_integrable.
    + rewrite integral_sum, tP, tQ by auto; specialize (h _ hs); unfold versus in h; nra.
    + intros y; rewrite <- pos_scaled by lra.
      replace (t * (P y - 1 / t * Q y)) with (t * P y - Q y) by (field; lra); pos_cases; lra.
  - rewrite (integral_as Q Q 1 0); auto; [rewrite tQ; lra |].
    intros y; rewrite pos_of_positive; [ring | specialize (pQ y); lra].
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

(* Of the mechanism itself: with the record x against without it, it is below a curve. *)
Variable x : X.
Variable f : R -> R.
Hypothesis M_below : forall S S', below_curve (M (S ++ x :: S')) (M (S ++ S')) f.

Lemma taken_below D S S' : below_curve (on_sample D (S ++ x :: S')) (on_sample D (S ++ S')) f.
Proof.
  revert S'; induction D as [| y D IH]; simpl; intros S'; [apply M_below |].
  apply mix_below; auto using on_sample_distribution; rewrite <- !app_assoc; apply IH.
Qed.

Lemma with_against_without D D' S :
  below_curve (on_sample (D ++ x :: D') S) (on_sample (D ++ D') S) (sampled_of q f).
Proof.
  revert S; induction D as [| y D IH]; intros S; simpl.
  - apply sampled_below; auto using on_sample_distribution.
    pose proof (taken_below D' S []) as h; rewrite app_nil_r in h; apply h.
  - apply mix_below; auto using on_sample_distribution.
Qed.

Theorem poisson_below D D' :
  below_curve (on_sample (D ++ x :: D') []) (on_sample (D ++ D') []) (sampled_of q f) /\
  below_curve (on_sample (D ++ D') []) (on_sample (D ++ x :: D') [])
    (reversed_of (sampled_of q f)).
Proof.
  pose proof (with_against_without D D' []) as h; split; [exact h |].
  apply reversed_below; auto using on_sample_distribution.
Qed.

End Sampling.

(* Finite sums are such integrals, so that nothing above is assumed in vain. *)
Theorem finite_samples (X Y : Type) (outcomes : list Y) q (M : list X -> law Y) x f :
  0 <= q <= 1 -> (forall S y, 0 <= M S y) -> (forall S, sum (map (M S) outcomes) = 1) ->
  (forall S S' t, 0 <= t ->
    H (map (fun y => (M (S ++ x :: S') y, M (S ++ S') y)) outcomes) t <= f t) ->
  forall D D' t, 0 <= t ->
    let P := on_sample X Y q M (D ++ x :: D') [] in
    let Q := on_sample X Y q M (D ++ D') [] in
    H (map (fun y => (P y, Q y)) outcomes) t <= sampled_of q f t /\
    H (map (fun y => (Q y, P y)) outcomes) t <= reversed_of (sampled_of q f) t.
Proof.
  intros hq pM tM hM D D' t ht P Q.
  assert (e : forall P Q t, H (map (fun y => (P y, Q y)) outcomes) t =
                            versus Y (fun f => sum (map f outcomes)) P Q t).
  { intros P' Q' u; unfold versus; clear; induction outcomes as [| y ys IH]; simpl; auto.
    rewrite IH; auto. }
  destruct (poisson_below X Y (fun _ => True) (fun f => sum (map f outcomes))
    ltac:(auto) ltac:(auto) ltac:(auto)) with (q := q) (M := M) (x := x) (f := f) (D := D) (D' := D')
    as [one two]; auto.
  - intros g h a c _ _; clear; induction outcomes as [| y ys IH]; simpl; [ring | rewrite IH; ring].
  - intros g h _ _ gh; clear - gh; induction outcomes as [| y ys IH]; simpl; [lra |].
    specialize (gh y); lra.
  - intros S; repeat split; auto.
  - intros S S' u hu; rewrite <- e; auto.
  - rewrite !e; split; auto.
Qed.
