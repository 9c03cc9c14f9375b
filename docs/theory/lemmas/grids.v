(* Losses on a grid: what docs/theory/kernel.md says under "Powers", with real masses.

   The losses are k h for whole numbers k, and b stands for e^h: only b > 0 is used, and b > 1
   where the grid is halved. A list of masses begins at some place k.

   Proven here:
   - grids_multiply: the masses of sums of two losses are the convolution; what is infinite in one
     is infinite in the sum, and infinite masses add up to at most their sum if neither total is
     above 1;
   - cut_low, cut_high: masses at the lower end may move up to the lowest place kept, and those at
     the upper end become infinite;
   - odd_place: a mass between two places of the halved grid may be split between both. *)

From Coq Require Import Reals ZArith List Lra Lia Psatz.
From Lemmas Require Import measures compositions.
Import ListNotations.
Open Scope R_scope.

(* e^-loss at the place k, and the weight of a mass there: max(0, 1 - t e^-loss). *)
Definition v (b : R) (k : Z) : R := powerRZ b (- k).
Definition w (b : R) (k : Z) (t : R) : R := pos (1 - t * v b k).

Fixpoint grid (b : R) (k : Z) (l : list R) : list (R * R) :=
  match l with [] => [] | m :: rest => (m, v b k) :: grid b (k + 1) rest end.

Definition losses (b : R) (k : Z) (l : list R) (infinite : R) : list (R * R) :=
  (infinite, 0) :: grid b k l.

Definition nonneg (l : list R) : Prop := Forall (fun m => 0 <= m) l.

Lemma v_positive b k : 0 < b -> 0 < v b k.
Proof. intros; apply powerRZ_lt; auto. Qed.

Lemma v_sum b j k : 0 < b -> v b (j + k) = v b j * v b k.
Proof. intros; unfold v; rewrite Z.opp_add_distr; apply powerRZ_add; lra. Qed.

Lemma v_falls b k : 1 <= b -> v b (k + 1) <= v b k.
Proof.
  intros; rewrite v_sum by lra; pose proof (v_positive b k ltac:(lra)).
  assert (v b 1 <= 1); [| nra].
  unfold v; simpl; rewrite Rmult_1_r, <- Rinv_1; apply Rinv_le_contravar; lra.
Qed.

Lemma w_nonneg b k t : 0 <= w b k t.
Proof. apply pos_nonneg. Qed.

Lemma w_rises b k t : 1 <= b -> 0 <= t -> w b k t <= w b (k + 1) t.
Proof. intros; apply pos_grows; pose proof (v_falls b k); nra. Qed.

Lemma w_most b k t : 0 < b -> 0 <= t -> w b k t <= 1.
Proof.
  intros hb ht; pose proof (v_positive b k hb); unfold w.
  assert (0 <= t * v b k) by (apply Rmult_le_pos; lra); pos_cases; lra.
Qed.

Lemma masses_of_grid b k l : 0 < b -> nonneg l -> masses_of (grid b k l).
Proof.
  intros hb; revert k; induction l; simpl; intros k h; inversion h; subst; constructor; simpl.
  - split; auto; left; apply v_positive; auto.
  - apply IHl; auto.
Qed.

Lemma masses_of_losses b k l i : 0 < b -> nonneg l -> 0 <= i -> masses_of (losses b k l i).
Proof. intros; constructor; simpl; [lra | apply masses_of_grid; auto]. Qed.

Lemma delta_losses b k l i t : delta (losses b k l i) t = i + delta (grid b k l) t.
Proof.
  unfold losses; simpl; replace (1 - t * 0) with 1 by ring; rewrite (pos_of_positive 1); lra.
Qed.

Lemma nonneg_sum l : nonneg l -> 0 <= sum l.
Proof. induction 1; simpl; lra. Qed.

(* Convolution. *)

Fixpoint add (x y : list R) : list R :=
  match x, y with
  | [], _ => y
  | _, [] => x
  | a :: x', b :: y' => (a + b) :: add x' y'
  end.

Fixpoint conv (x y : list R) : list R :=
  match x with [] => [] | a :: x' => add (map (Rmult a) y) (0 :: conv x' y) end.

Lemma nonneg_add x y : nonneg x -> nonneg y -> nonneg (add x y).
Proof.
  revert y; induction x as [| a x IH]; intros [| b y] hx hy; simpl; auto.
  inversion hx; inversion hy; subst; constructor; [lra | apply IH; auto].
Qed.

Lemma nonneg_conv x y : nonneg x -> nonneg y -> nonneg (conv x y).
Proof.
  intros hx hy; induction hx as [| a x ha hx IH]; [constructor |].
  apply nonneg_add; [| constructor; auto; lra].
  clear IH; induction hy; simpl; constructor; auto; apply Rmult_le_pos; auto.
Qed.

Lemma sum_add x y : sum (add x y) = sum x + sum y.
Proof.
  revert y; induction x as [| a x IH]; intros [| b y]; simpl; try ring; rewrite IH; ring.
Qed.

Lemma sum_scaled c l : sum (map (Rmult c) l) = c * sum l.
Proof. induction l as [| a l IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma sum_conv x y : sum (conv x y) = sum x * sum y.
Proof.
  induction x as [| a x IH]; simpl; [ring |].
  rewrite sum_add; simpl; rewrite sum_scaled, IH; ring.
Qed.

Lemma delta_add b k x y t :
  delta (grid b k (add x y)) t = delta (grid b k x) t + delta (grid b k y) t.
Proof.
  revert k y; induction x as [| a x IH]; intros k [| c y]; simpl; try ring; rewrite IH; ring.
Qed.

Lemma delta_scaled b k c l t :
  delta (grid b k (map (Rmult c) l)) t = c * delta (grid b k l) t.
Proof. revert k; induction l as [| a l IH]; intros k; simpl; [ring | rewrite IH; ring]. Qed.

Lemma delta_moved b j k l t : 0 < b ->
  delta (grid b k l) (t * v b j) = delta (grid b (j + k) l) t.
Proof.
  intros hb; revert k; induction l as [| a l IH]; intros k; simpl; auto.
  rewrite IH, v_sum, Z.add_assoc by auto; f_equal; f_equal; f_equal; ring.
Qed.

Lemma delta_at_0 L : delta L 0 = sum (map fst L).
Proof.
  induction L as [| [m u] L IH]; simpl; [auto |]; rewrite IH.
  replace (1 - 0 * u) with 1 by ring; rewrite (pos_of_positive 1); lra.
Qed.

Lemma masses_of_grid_sum b k l : sum (map fst (grid b k l)) = sum l.
Proof. revert k; induction l; intros; simpl; [auto | rewrite IHl; auto]. Qed.

Lemma H_scale_losses m u L t : masses_of L -> 0 <= m ->
  H (scale (m, m * u) (of_losses L)) t = m * delta L (t * u).
Proof.
  intros hL hm; induction L as [| [a c] L IH]; simpl; [ring |].
  inversion hL as [| ? ? both]; subst; simpl in both; rewrite IH by auto.
  replace (m * a - t * (m * u * (a * c))) with (m * a * (1 - t * u * c)) by ring.
  rewrite pos_scaled by (apply Rmult_le_pos; tauto); ring.
Qed.

Lemma H_times_grid b j x L t : nonneg x -> masses_of L ->
  H (times (of_losses (grid b j x)) (of_losses L)) t =
  fold_right (fun one s => fst one * delta L (t * snd one) + s) 0 (grid b j x).
Proof.
  intros hx hL; revert j; induction hx as [| a x ha hx IH]; intros j; simpl; auto.
  rewrite H_app, H_scale_losses by auto; fold (times (of_losses (grid b (j + 1) x)) (of_losses L)).
  rewrite IH; auto.
Qed.

Theorem grids_multiply b j k x y i i' t : 0 < b -> nonneg x -> nonneg y -> 0 <= i -> 0 <= i' ->
  H (times (of_losses (losses b j x i)) (of_losses (losses b k y i'))) t =
  H (of_losses (losses b (j + k) (conv x y) (i * (i' + sum y) + i' * sum x))) t.
Proof.
  intros hb hx hy hi hi'.
  rewrite (H_of_losses (losses b (j + k) _ _)), delta_losses.
  2: { apply masses_of_losses; auto using nonneg_conv.
       pose proof (nonneg_sum x hx); pose proof (nonneg_sum y hy); nra. }
  assert (hL : masses_of (losses b k y i')) by (apply masses_of_losses; auto).
  change (times (of_losses (losses b j x i)) (of_losses (losses b k y i')))
    with (scale (i, i * 0) (of_losses (losses b k y i')) ++
          times (of_losses (grid b j x)) (of_losses (losses b k y i'))).
  rewrite H_app, H_scale_losses by auto; rewrite Rmult_0_r, delta_at_0.
  rewrite H_times_grid by auto; simpl (map fst _); simpl (sum (_ :: _)).
  rewrite masses_of_grid_sum.
  assert (fold_right (fun one s => fst one * delta (losses b k y i') (t * snd one) + s) 0
            (grid b j x) = i' * sum x + delta (grid b (j + k) (conv x y)) t); [| lra].
  clear hi hi' hL; revert j; induction hx as [| a x ha hx IH]; intros j; [simpl; ring |].
  cbn [grid fold_right fst snd sum conv]; rewrite IH, delta_losses, delta_moved by auto.
  rewrite delta_add, delta_scaled; simpl.
  replace (j + 1 + k)%Z with (j + k + 1)%Z by lia; ring.
Qed.

Lemma infinite_masses x y i i' : 0 <= x -> 0 <= y -> 0 <= i -> 0 <= i' ->
  x + i <= 1 -> y + i' <= 1 ->
  i * (i' + y) + i' * x <= i + i' /\ x * y + (i * (i' + y) + i' * x) <= 1.
Proof. intros; split; nra. Qed.

(* Cutting. *)

Theorem cut_low b k a l t : 1 <= b -> 0 <= t -> nonneg a ->
  delta (grid b k (a ++ l)) t <=
  sum a * w b (k + Z.of_nat (length a)) t + delta (grid b (k + Z.of_nat (length a)) l) t.
Proof.
  intros hb ht ha; revert k; induction ha as [| m a hm ha IH]; intros k.
  - simpl; rewrite Z.add_0_r; lra.
  - specialize (IH (k + 1)%Z); simpl app; simpl length; simpl sum; cbn [grid delta].
    replace (k + Z.of_nat (S (length a)))%Z with (k + 1 + Z.of_nat (length a))%Z by lia.
    fold (w b k t).
    assert (w b k t <= w b (k + 1 + Z.of_nat (length a)) t); [| nra].
    clear - hb ht; induction (length a) as [| n IH].
    + rewrite Z.add_0_r; apply w_rises; auto.
    + eapply Rle_trans; [exact IH |].
      replace (k + 1 + Z.of_nat (S n))%Z with (k + 1 + Z.of_nat n + 1)%Z by lia.
      apply w_rises; auto.
Qed.

Theorem cut_high b k l c t : 0 < b -> 0 <= t -> nonneg c ->
  delta (grid b k (l ++ c)) t <= delta (grid b k l) t + sum c.
Proof.
  intros hb ht hc; revert k; induction l as [| m l IH]; intros k.
  - simpl; revert k; induction hc as [| m c hm hc IH]; intros k; simpl; [lra |].
    specialize (IH (k + 1)%Z); fold (w b k t); pose proof (w_most b k t hb ht).
    pose proof (w_nonneg b k t); nra.
  - specialize (IH (k + 1)%Z); simpl; lra.
Qed.

(* Halving the grid: the place k is the place 2 k of the finer one. *)

Lemma v_halved b k : 0 < b -> v (b * b) k = v b (2 * k).
Proof.
  intros hb; replace (2 * k)%Z with (k + k)%Z by lia.
  rewrite v_sum by auto; unfold v; generalize (- k)%Z; intros z.
  apply powerRZ_mult; right; apply Rmult_integral_contrapositive; split; lra.
Qed.

Lemma w_halved b k t : 0 < b -> w (b * b) k t = w b (2 * k) t.
Proof. intros; unfold w; rewrite v_halved; auto. Qed.

(* The stay m' and the way up m'' of a mass at an odd place: at least 1 / (1 + e^-h) goes up. *)
Theorem odd_place b k m' m'' t : 1 < b -> 0 <= t -> 0 <= m' -> 0 <= m'' ->
  (m' + m'') * b <= m'' * (b + 1) ->
  (m' + m'') * w b (2 * k + 1) t <= m' * w (b * b) k t + m'' * w (b * b) (k + 1) t.
Proof.
  intros hb ht h' h'' share; rewrite !w_halved by lra.
  replace (2 * (k + 1))%Z with (2 * k + 1 + 1)%Z by lia.
  unfold w; rewrite !(v_sum b _ 1) by lra.
  assert (e : v b 1 * b = 1) by (unfold v; simpl; field; lra).
  set (u := v b (2 * k)); set (r := v b 1) in *.
  assert (0 < u) by (apply v_positive; lra); assert (0 < r) by (apply v_positive; lra).
  (* u r is the mean of u and u r r with the shares 1 - s and s, and s = b / (b + 1). *)
  set (s := b / (b + 1)).
  assert (es : s * (b + 1) = b) by (unfold s; field; lra).
  assert (hs : 0 <= s <= 1) by (split; nra).
  assert (mean : 1 - t * (u * r) =
                 (1 - s) * (1 - t * u) + s * (1 - t * (u * r * r))).
  { assert (s * (1 + r) = 1) by (assert (b * (s * (1 + r)) = b * 1) by nra; nra).
    replace ((1 - s) * (1 - t * u) + s * (1 - t * (u * r * r)))
      with (1 - t * u * (1 - s * (1 + r) * (1 - r))) by ring.
    replace (s * (1 + r)) with 1 by lra; ring. }
  rewrite mean.
  pose proof (pos_of_sum ((1 - s) * (1 - t * u)) (s * (1 - t * (u * r * r)))) as two.
  rewrite !pos_scaled in two by lra.
  assert (up : pos (1 - t * u) <= pos (1 - t * (u * r * r))).
  { apply pos_grows; assert (r <= 1) by nra; assert (r * r <= 1) by nra.
    assert (u * (r * r) <= u * 1) by (apply Rmult_le_compat_l; lra); nra. }
  assert ((m' + m'') * s <= m'').
  { apply Rmult_le_reg_r with (b + 1); [lra |].
    replace ((m' + m'') * s * (b + 1)) with ((m' + m'') * b) by (rewrite <- es at 1; ring); lra. }
  nra.
Qed.
