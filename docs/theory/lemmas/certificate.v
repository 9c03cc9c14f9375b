(* All of it together: what docs/theory/kernel.md calls "at most" for compositions.

   Releases have any outcomes, and each may be chosen after all outcomes before it were seen. Of
   each a curve is known that its own is below. The kernel makes masses of every curve, takes
   powers, multiplies them and adds up delta.

   Proven here:
   - curve_pair: of a curve that is convex, does not rise and starts at 1 the masses at some points
     are a pair whose curve is above it, and what the kernel begins with covers this pair;
   - parts_cover: the product of all parts' masses covers the product of all pairs;
   - certificate, process_certificate: whatever the order of the releases is, delta is at most what
     the kernel says;
   - repeated_certificate: the same for T releases below one curve, from the curve to delta;
   - example: an example. *)

From Coq Require Import Reals ZArith List Permutation Lra Lia.
From Lemmas Require Import measures chords compositions runs grids loop.
Import ListNotations.
Open Scope R_scope.

(* What the kernel begins with: points of the curve, and masses rounded up. *)
Definition made_of (b : R) (unit : Z) (f : R -> R) (gaps : list (nat * R)) (zs : list Z)
    (a : point) (rest : list point) (M : Masses) : Prop :=
  points b (low M) gaps = a :: rest /\ Forall (on f) (a :: rest) /\
  places M = spread 0%Z (combine (map fst gaps) zs) /\
  Forall2 (fun o z => at_most unit (fst o) z) (all_masses a rest) (zs ++ [infinite M]).

Lemma made_of_starts b unit f gaps zs a rest M : 1 < b -> made_of b unit f gaps zs a rest M ->
  0 < fst a /\ ascending a rest.
Proof.
  intros hb (nodes & _); destruct gaps as [| [n h] gaps]; simpl in nodes; [discriminate |].
  injection nodes as <- <-; split; [apply powerRZ_lt; lra | apply points_ascend; auto; lia].
Qed.

Theorem curve_pair b unit f gaps zs a rest M : 1 < b -> is_curve f ->
  made_of b unit f gaps zs a rest M ->
  let B := of_losses (all_masses a rest) in
  proper B /\ (forall t, 0 <= t -> f t <= H B t) /\ covers b unit M B.
Proof.
  intros hb (cf & ff & pf & f0) made B.
  destruct (made_of_starts b unit f gaps zs a rest M hb made) as [ha asc].
  destruct made as (nodes & fs & spread_ & bounds); destruct M as [k l i]; simpl in *; subst l.
  pose proof (masses_nonneg f a rest cf ff pf f0 ha asc fs) as hm.
  assert (above : forall t, 0 <= t -> f t <= H B t).
  { apply (from_above f a rest (all_masses a rest)); auto.
    clear; induction (all_masses a rest); constructor; auto; split; lra. }
  repeat split.
  - apply proper_of_losses; auto.
  - exact above.
  - (* The lines through the points are a curve as well, and the points are on it. *)
    set (g := H B).
    assert (eg : forall t, 0 <= t -> g t = lines start (a :: rest) t)
      by (intros; unfold g, B; rewrite H_of_losses, masses_exact; auto).
    assert (pB : proper B) by (apply proper_of_losses; auto).
    apply (from_above_covers b unit g k gaps a rest zs i B); auto.
    + apply curves_are_convex.
    + intros s t _ st; apply H_falls; auto.
    + intros; apply H_nonneg.
    + rewrite eg by lra; simpl; destruct (Rle_dec 0 (fst a)); [ring | lra].
    + assert (at_points : forall p l, 0 <= fst p -> ascending p l ->
        forall o, In o l -> lines p l (fst o) = snd o).
      { clear; intros p l; revert p; induction l as [| c l IH]; intros p hp asc o; [intros [] |].
        destruct asc as [pc asc]; simpl; intros [<- | ho].
        - destruct (Rle_dec (fst c) (fst c)); [| lra].
          rewrite (slope_line p c pc) at 1; ring.
        - assert (fst c < fst o).
          { clear - asc ho; revert c asc; induction l as [| d l IH]; intros c asc; [destruct ho |].
            destruct asc as [cd asc], ho as [<- | ho]; [auto |]; specialize (IH ho d asc); lra. }
          destruct (Rle_dec (fst o) (fst c)); [lra | apply IH; auto; lra]. }
      assert (all : forall o, In o (a :: rest) -> 0 <= fst o).
      { intros o [<- | ho]; [lra |]; clear - ha asc ho.
        revert a ha asc; induction rest as [| c l IH]; intros a ha asc; [destruct ho |].
        destruct asc as [ac asc], ho as [<- | ho]; [lra | apply (IH ho c); auto; lra]. }
      apply Forall_forall; intros o ho; unfold on; rewrite eg by auto.
      symmetry; apply at_points; auto; [simpl; lra | simpl; auto].
    + intros t _; unfold g; lra.
Qed.

(* Parts: a pair, how often, and masses that cover its power. *)

Definition all_pairs (parts : list (pair * nat)) : list pair :=
  flat_map (fun part => repeat (fst part) (snd part)) parts.

Lemma covers_same b unit M A B : covers b unit M A -> below B A -> covers b unit M B.
Proof.
  intros (x & i & h1 & h2 & h3 & h4 & h5 & h6) h.
  exists x, i; repeat split; auto; apply below_trans with A; auto.
Qed.

Lemma product_app Bs Cs : product (Bs ++ Cs) = times (product Bs) (product Cs).
Proof.
  induction Bs as [| B Bs IH]; simpl app; [symmetry; apply times_one |].
  simpl product; rewrite IH, times_assoc; auto.
Qed.

Lemma parts_cover b unit parts Ms : 0 < b -> (0 < unit)%Z ->
  Forall (fun part => proper (fst part)) parts ->
  Forall2 (fun part M => covers b unit M (power (fst part) (snd part))) parts Ms ->
  forall M A, proper A -> covers b unit M A ->
  covers b unit (fold_left (times_masses unit) Ms M) (times A (product (all_pairs parts))).
Proof.
  intros hb hu hp cov; induction cov as [| part M' parts Ms one cov IH]; intros M A hA hM.
  - apply covers_same with A; auto; intros t _; simpl; rewrite times_exchange, times_one; lra.
  - inversion hp as [| ? ? hp1 hp2]; subst; simpl fold_left; simpl all_pairs.
    rewrite product_app, <- power_is_product, <- times_assoc.
    apply IH; auto using proper_times, proper_power, times_covers.
Qed.

Lemma proper_all_pairs parts : Forall (fun part => proper (fst part)) parts ->
  Forall proper (all_pairs parts).
Proof.
  induction 1 as [| [B n] parts one _ IH]; simpl; [constructor |].
  apply Forall_app; split; auto; apply Forall_forall; intros o ho.
  apply repeat_spec in ho; subst; auto.
Qed.

(* At t = e^epsilon; the kernel's integer stands for delta in units of 1 / (unit one). *)
Definition says (b : R) (one weight fall : Z) (first : nat) (M : Masses) (t : R) : Prop :=
  (first = O \/ 1 <= t * v b (low M + Z.of_nat first - 1)) /\
  t * v b (low M + Z.of_nat first) <= 1 /\
  (0 <= weight)%Z /\ IZR weight <= t * v b (low M + Z.of_nat first) * IZR one /\
  (0 <= fall)%Z /\ IZR fall * b <= IZR one.

Theorem certificate b unit parts Ms M0 part0 releases t one weight fall first :
  1 < b -> (0 < unit)%Z -> (0 < one)%Z -> 0 <= t ->
  Forall (fun part => proper (fst part)) (part0 :: parts) ->
  Forall2 (fun part M => covers b unit M (power (fst part) (snd part))) (part0 :: parts) (M0 :: Ms) ->
  Permutation releases (all_pairs (part0 :: parts)) ->
  let M := fold_left (times_masses unit) Ms M0 in
  says b one weight fall first M t ->
  H (product releases) t <= IZR (delta_masses one weight fall first M) / (IZR unit * IZR one).
Proof.
  intros hb hu h1 ht hp cov perm M (s1 & s2 & s3 & s4 & s5 & s6).
  inversion hp as [| ? ? hp0 hps]; inversion cov as [| ? ? ? ? cov0 covs]; subst.
  assert (hall : Forall proper releases).
  { eapply Permutation_Forall; [apply Permutation_sym; eauto | apply proper_all_pairs; auto]. }
  assert (cover : covers b unit M (product releases)).
  { apply covers_same with (times (power (fst part0) (snd part0)) (product (all_pairs parts))).
    - apply parts_cover; auto using proper_power; lra.
    - rewrite power_is_product, <- product_app; apply product_permutation; auto. }
  pose proof (delta_covers b unit one weight fall first M _ t hb hu h1 ht cover s1 s2 s3 s4 s5 s6).
  assert (0 < IZR unit * IZR one) by (apply Rmult_lt_0_compat; apply IZR_lt; auto).
  apply Rmult_le_reg_r with (IZR unit * IZR one); auto.
  unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Theorem process_certificate b unit parts Ms M0 part0 releases s t one weight fall first :
  1 < b -> (0 < unit)%Z -> (0 < one)%Z -> 0 <= t ->
  Forall (fun part => proper (fst part)) (part0 :: parts) ->
  Forall2 (fun part M => covers b unit M (power (fst part) (snd part))) (part0 :: parts) (M0 :: Ms) ->
  Permutation releases (all_pairs (part0 :: parts)) -> each_below releases s ->
  let M := fold_left (times_masses unit) Ms M0 in
  says b one weight fall first M t ->
  curve_of_process s t <= IZR (delta_masses one weight fall first M) / (IZR unit * IZR one).
Proof.
  intros hb hu h1 ht hp cov perm hs M said.
  apply Rle_trans with (H (product releases) t).
  - apply process_below; auto.
    eapply Permutation_Forall; [apply Permutation_sym; eauto | apply proper_all_pairs; auto].
  - apply (certificate b unit parts Ms M0 part0); auto.
Qed.

(* T releases, each of which is below one curve, whatever the outcomes before it were. *)
Fixpoint run (f : R -> R) (T : nat) (s : process) : Prop :=
  match s, T with
  | finished_process, O => True
  | released_first r next, S n =>
      (forall t, 0 <= t -> curve_of r t <= f t) /\ (forall y, run f n (next y))
  | _, _ => False
  end.

Theorem repeated_certificate b b' unit f gaps zs a rest M steps T s t one weight fall first :
  1 < b -> 1 < b' -> (0 < unit)%Z -> (0 < one)%Z -> 0 <= t ->
  is_curve f -> made_of b unit f gaps zs a rest M ->
  map digit steps = digits T -> shares_fit b steps b' -> run f (Pos.to_nat T) s ->
  let N := power_masses unit M steps in
  says b' one weight fall first N t ->
  curve_of_process s t <= IZR (delta_masses one weight fall first N) / (IZR unit * IZR one).
Proof.
  intros hb hb' hu h1 ht hf made count fit hrun N said.
  destruct (curve_pair b unit f gaps zs a rest M hb hf made) as (pB & hB & cB).
  set (B := of_losses (all_masses a rest)) in *.
  apply (process_certificate b' unit [] [] N (B, Pos.to_nat T) (repeat B (Pos.to_nat T))); auto.
  - constructor; auto; simpl; rewrite <- (counts_reached T steps count).
    apply power_covers with b; auto.
  - simpl; rewrite app_nil_r; auto.
  - clear - hrun hB; revert hrun; generalize (Pos.to_nat T) as n.
    induction s as [| r next IH]; intros [| n] h; simpl in *; auto.
    destruct h as [h hs]; split; [| intros y; apply IH; auto].
    intros t ht; eapply Rle_trans; [apply h | apply hB]; auto.
Qed.

(* An example, so that nobody has to believe that all of these assumptions can hold at once: two
   randomised responses with probabilities 2/3 and 1/3, b = 2 and masses in units of 1/3. At
   epsilon = 0 the kernel's loop says 1/2 (and the truth is 1/3, as so few digits are rounded up). *)

Definition response : pair := [(2 / 3, 1 / 3); (1 / 3, 2 / 3)].

Lemma proper_response : proper response.
Proof. unfold response; repeat (apply proper_cons; split; [lra | split; [lra |]]); constructor. Qed.

Definition response_masses : Masses := {| low := -1; places := [1; 0; 2]%Z; infinite := 0 |}.

Definition square : Step := {| halving := None; digit := false; cut_first := 0; cut_kept := 5 |}.

Definition twice : process :=
  let r := finite_release response proper_response in
  released_first r (fun _ => released_first r (fun _ => finished_process)).

Theorem example : curve_of_process twice 1 <= 1 / 2.
Proof.
  replace (1 / 2) with
    (IZR (delta_masses 4 2 2 3 (power_masses 3 response_masses [square])) / (IZR 3 * IZR 4))
    by (replace (delta_masses 4 2 2 3 (power_masses 3 response_masses [square])) with 6%Z
          by reflexivity; lra).
  pose proof proper_response as pr.
  assert (h : H response (1 / 2) = 1 / 2) by (unfold response; simpl; pos_cases; lra).
  assert (h' : H response 2 = 0) by (unfold response; simpl; pos_cases; lra).
  apply (repeated_certificate 2 2 3 (H response) [(0%nat, 1 / 2); (1%nat, 0)] [1; 2]%Z
           (/ 2, 1 / 2) [(2, 0)] response_masses [square] 2); try lra; try lia; auto.
  - split; [apply curves_are_convex |]; split; [| split].
    + intros s t _ st; apply H_falls; auto.
    + intros; apply H_nonneg.
    + rewrite H_at_0; auto; unfold mass_P; simpl; lra.
  - repeat split.
    + simpl; repeat f_equal; lra.
    + constructor; [| constructor; [| constructor]]; unfold on; cbn [fst snd]; [| auto].
      replace (/ 2) with (1 / 2) by lra; auto.
    + unfold all_masses, slope, at_most; simpl.
      constructor; [| constructor; [| constructor; [| constructor]]]; unfold slope; simpl;
        [apply Req_le; field; lra | apply Req_le; field; lra | lra].
  - reflexivity.
  - repeat split; intros t ht; rewrite finite_release_curve; lra.
  - unfold says, v; simpl; repeat split; try lra; try lia; right; lra.
Qed.
