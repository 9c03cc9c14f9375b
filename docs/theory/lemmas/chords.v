(* A curve at some points gives masses: Fact 1 of docs/theory/kernel.md.

   Points (t_0, h_0), ..., (t_n, h_n) with 0 < t_0 < ... < t_n are joined by straight lines, with
   (0, 1) before them and a constant after them.

   Proven here:
   - chords_above: the lines are above every convex curve that starts at 1 or less, does not rise
     and is at most h_i at each t_i;
   - masses_exact: the kernel's masses, with h_n at an infinite loss, have exactly the lines as
     their curve, whatever the heights are (even where masses are negative);
   - masses_total: with h_n they add up to 1;
   - masses_nonneg: they are not negative where the heights are those of a convex curve;
   - node_mass, first_mass, last_mass, only_mass: they are what the kernel evaluates;
   - from_above: larger masses give a finite pair whose curve is above the convex one. *)

From Coq Require Import Reals List Lra Psatz.
From Lemmas Require Import measures.
Import ListNotations.
Open Scope R_scope.

Definition point := (R * R)%type.

Definition slope (a b : point) : R := (snd b - snd a) / (fst b - fst a).

(* The lines, from the point a on. *)
Fixpoint lines (a : point) (rest : list point) (t : R) : R :=
  match rest with
  | [] => snd a
  | b :: others =>
      if Rle_dec t (fst b) then snd a + slope a b * (t - fst a) else lines b others t
  end.

Fixpoint ascending (a : point) (rest : list point) : Prop :=
  match rest with [] => True | b :: others => fst a < fst b /\ ascending b others end.

(* A point at t between slopes s and s' has the mass t (s' - s) under P, and s' - s under Q: the
   ratio is t. What is left at the end is an infinite loss. *)
Fixpoint masses (s : R) (a : point) (rest : list point) : list (R * R) :=
  match rest with
  | [] => [(fst a * (0 - s), 1 / fst a); (snd a, 0)]
  | b :: others => (fst a * (slope a b - s), 1 / fst a) :: masses (slope a b) b others
  end.

Definition start : point := (0, 1).

Definition all_masses (a : point) (rest : list point) : list (R * R) :=
  masses (slope start a) a rest.

Lemma mass_before u c t : 0 < u -> t <= u -> u * c * pos (1 - t * (1 / u)) = c * (u - t).
Proof.
  intros hu ht.
  replace (1 - t * (1 / u)) with (/ u * (u - t)) by (field; lra).
  assert (0 < / u) by (apply Rinv_0_lt_compat; auto).
  rewrite pos_of_positive by nra; field; lra.
Qed.

Lemma mass_after u c t : 0 < u -> u <= t -> u * c * pos (1 - t * (1 / u)) = 0.
Proof.
  intros hu ht.
  replace (1 - t * (1 / u)) with (/ u * (u - t)) by (field; lra).
  assert (0 < / u) by (apply Rinv_0_lt_compat; auto).
  rewrite pos_of_negative by nra; lra.
Qed.

Lemma slope_line a b : fst a < fst b -> snd b = snd a + slope a b * (fst b - fst a).
Proof. intros; unfold slope; field; lra. Qed.

(* To the left of a the curve of the masses from a on is the line of slope s through a. *)
Lemma masses_left s a rest t : 0 < fst a -> ascending a rest -> t <= fst a ->
  delta (masses s a rest) t = snd a + s * (t - fst a).
Proof.
  revert s a; induction rest as [| b rest IH]; intros s a ha asc ht.
  - simpl; rewrite mass_before by lra.
    replace (1 - t * 0) with 1 by ring; rewrite (pos_of_positive 1) by lra; ring.
  - destruct asc as [ab asc]; pose proof (slope_line a b ab) as line.
    simpl; rewrite mass_before, IH by (auto; lra); rewrite line; ring.
Qed.

Lemma masses_right s a rest t : 0 < fst a -> ascending a rest -> fst a <= t ->
  delta (masses s a rest) t = lines a rest t.
Proof.
  revert s a; induction rest as [| b rest IH]; intros s a ha asc ht.
  - simpl; rewrite mass_after by lra.
    replace (1 - t * 0) with 1 by ring; rewrite (pos_of_positive 1) by lra; ring.
  - destruct asc as [ab asc]; pose proof (slope_line a b ab) as line.
    simpl; rewrite mass_after by lra; destruct (Rle_dec t (fst b)).
    + rewrite masses_left by (auto; lra); rewrite line; ring.
    + rewrite IH by (auto; lra); ring.
Qed.

Theorem masses_exact a rest t : 0 < fst a -> ascending a rest -> 0 <= t ->
  delta (all_masses a rest) t = lines start (a :: rest) t.
Proof.
  intros ha asc ht; unfold all_masses; simpl; destruct (Rle_dec t (fst a)).
  - rewrite masses_left by auto; unfold slope, start; simpl; field; lra.
  - apply masses_right; auto; lra.
Qed.

Theorem masses_total a rest : 0 < fst a -> ascending a rest ->
  sum (map fst (all_masses a rest)) = 1.
Proof.
  intros ha asc.
  assert (total : forall L, delta L 0 = sum (map fst L)).
  { induction L as [| [m v] L IH]; simpl; [auto |].
    rewrite IH; replace (1 - 0 * v) with 1 by ring; rewrite (pos_of_positive 1) by lra; ring. }
  rewrite <- total, masses_exact by (auto; lra).
  simpl; destruct (Rle_dec 0 (fst a)); [ring | lra].
Qed.

(* The kernel's formula, with e^((k_(i+1) - k_i) h) = t_(i+1) / t_i. *)
Theorem node_mass a b c : 0 < fst a -> fst a < fst b -> fst b < fst c ->
  fst b * (slope b c - slope a b) =
  (snd c - snd b) / (fst c / fst b - 1) + (snd a - snd b) / (1 - 1 / (fst b / fst a)).
Proof. intros; unfold slope; field; repeat split; lra. Qed.

Theorem first_mass a b : 0 < fst a -> fst a < fst b ->
  fst a * (slope a b - slope start a) = (snd b - snd a) / (fst b / fst a - 1) + (1 - snd a).
Proof. intros; unfold slope, start; simpl; field; repeat split; lra. Qed.

Theorem last_mass a b : 0 < fst a -> fst a < fst b ->
  fst b * (0 - slope a b) = (snd a - snd b) / (1 - 1 / (fst b / fst a)).
Proof. intros; unfold slope; field; repeat split; lra. Qed.

Theorem only_mass a : 0 < fst a -> fst a * (0 - slope start a) = 1 - snd a.
Proof. intros; unfold slope, start; simpl; field; lra. Qed.

(* Convex curves. *)

Definition convex (f : R -> R) : Prop := forall s t c, 0 <= s -> 0 <= t -> 0 <= c <= 1 ->
  f ((1 - c) * s + c * t) <= (1 - c) * f s + c * f t.

Definition falls (f : R -> R) : Prop := forall s t, 0 <= s -> s <= t -> f t <= f s.

(* What masses are made of. It need not be the curve of a finite pair. *)
Definition is_curve (f : R -> R) : Prop :=
  convex f /\ falls f /\ (forall t, 0 <= t -> 0 <= f t) /\ f 0 = 1.

Theorem curves_are_convex A : convex (H A).
Proof. intros s t c _ _ hc; apply H_convex; auto. Qed.

Lemma chord_above f a b t : convex f -> 0 <= fst a -> fst a < fst b -> fst a <= t <= fst b ->
  f (fst a) <= snd a -> f (fst b) <= snd b -> f t <= snd a + slope a b * (t - fst a).
Proof.
  intros hf ha ab ht fa fb.
  set (c := (t - fst a) / (fst b - fst a)).
  assert (e : c * (fst b - fst a) = t - fst a) by (unfold c; field; lra).
  assert (hc : 0 <= c <= 1) by (split; nra).
  specialize (hf (fst a) (fst b) c ha ltac:(lra) hc).
  replace ((1 - c) * fst a + c * fst b) with t in hf by nra.
  replace (slope a b * (t - fst a)) with (c * (snd b - snd a))
    by (unfold slope, c; field; lra).
  nra.
Qed.

Definition over (f : R -> R) (a : point) : Prop := f (fst a) <= snd a.

Lemma lines_above f a rest t : convex f -> falls f -> 0 <= fst a -> ascending a rest ->
  fst a <= t -> over f a -> Forall (over f) rest -> f t <= lines a rest t.
Proof.
  intros hf fall; revert a; induction rest as [| b rest IH]; intros a ha asc ht fa fs; simpl.
  - apply Rle_trans with (f (fst a)); auto.
  - inversion fs; subst; destruct asc as [ab asc]; destruct (Rle_dec t (fst b)).
    + apply (chord_above f); auto.
    + apply IH; auto; lra.
Qed.

Theorem chords_above f a rest t : convex f -> falls f -> f 0 <= 1 -> 0 < fst a ->
  ascending a rest -> Forall (over f) (a :: rest) -> 0 <= t -> f t <= lines start (a :: rest) t.
Proof.
  intros hf fall f0 ha asc fs ht; apply lines_above; auto.
  - simpl; lra.
  - split; auto.
Qed.

(* Points on a convex curve have rising slopes. *)

Definition on (f : R -> R) (a : point) : Prop := snd a = f (fst a).

Lemma slopes_rise f a b c : convex f -> 0 <= fst a -> fst a < fst b -> fst b < fst c ->
  on f a -> on f b -> on f c -> slope a b <= slope b c.
Proof.
  intros hf ha ab bc fa fb fc.
  pose proof (chord_above f a c (fst b) hf ha ltac:(lra) ltac:(lra)
                ltac:(rewrite fa; lra) ltac:(rewrite fc; lra)) as up.
  rewrite <- fb in up.
  pose proof (slope_line a b ab) as l1; pose proof (slope_line b c bc) as l2.
  assert (l3 : snd c = snd a + slope a c * (fst c - fst a)) by (apply slope_line; lra).
  (* The slope of b is at most that of the whole, and that of the rest at least. *)
  assert (slope a b <= slope a c) by nra.
  assert ((slope b c - slope a b) * (fst c - fst b) =
          (slope a c - slope a b) * (fst c - fst a)) by nra.
  nra.
Qed.

Lemma slope_falls f a b : falls f -> 0 <= fst a -> fst a < fst b -> on f a -> on f b ->
  slope a b <= 0.
Proof.
  intros fall ha ab fa fb; pose proof (slope_line a b ab) as l.
  assert (snd b <= snd a) by (rewrite fa, fb; apply fall; lra); nra.
Qed.

Lemma masses_are_masses f a b rest : convex f -> falls f -> (forall t, 0 <= t -> 0 <= f t) ->
  0 <= fst a -> ascending a (b :: rest) -> on f a -> Forall (on f) (b :: rest) ->
  masses_of (masses (slope a b) b rest).
Proof.
  intros hf fall hp; revert a b; induction rest as [| c rest IH]; intros a b ha asc fa fs;
    inversion fs as [| ? ? fb others]; subst; simpl in asc.
  - assert (0 < 1 / fst b) by (apply Rdiv_lt_0_compat; lra).
    assert (slope a b <= 0) by (apply (slope_falls f); tauto).
    assert (0 <= snd b) by (rewrite fb; apply hp; lra).
    constructor; [| constructor; [| constructor]]; simpl; split; nra.
  - inversion others as [| ? ? fc _]; subst.
    assert (0 < 1 / fst b) by (apply Rdiv_lt_0_compat; lra).
    assert (slope a b <= slope b c) by (apply (slopes_rise f); tauto).
    simpl; constructor; simpl; [split; nra |].
    apply IH; simpl; auto; [lra | tauto].
Qed.

Theorem masses_nonneg f a rest : convex f -> falls f -> (forall t, 0 <= t -> 0 <= f t) ->
  f 0 = 1 -> 0 < fst a -> ascending a rest -> Forall (on f) (a :: rest) ->
  masses_of (all_masses a rest).
Proof.
  intros hf fall hp f0 ha asc fs.
  apply (masses_are_masses f); auto; simpl; auto; [lra | unfold on; simpl; auto].
Qed.

(* The pair that the kernel makes of a curve: P sums to 1, and every mass may be raised. *)
Theorem from_above f a rest L : convex f -> falls f -> (forall t, 0 <= t -> 0 <= f t) ->
  f 0 = 1 -> 0 < fst a -> ascending a rest -> Forall (on f) (a :: rest) ->
  masses_of L -> Forall2 more (all_masses a rest) L ->
  forall t, 0 <= t -> f t <= H (of_losses L) t.
Proof.
  intros hf fall hp f0 ha asc fs hL hm t ht.
  assert (hM : masses_of (all_masses a rest)) by (apply (masses_nonneg f); auto).
  apply Rle_trans with (H (of_losses (all_masses a rest)) t).
  - rewrite H_of_losses, masses_exact by auto.
    apply chords_above; auto; [lra |].
    eapply Forall_impl; [| exact fs]; unfold on, over; intros; lra.
  - apply masses_grow; auto.
Qed.
