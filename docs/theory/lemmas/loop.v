(* The kernel's loop over integers: rdpkit/kernel/masses.py, from above.

   Masses are whole numbers of 1/unit. That masses "cover" a pair says: there are real masses of
   the same losses, none above its integer, that add up to at most 1 and whose curve is above the
   pair's. (The integers alone may add up to more than 1, as they were rounded up; that infinite
   masses of a product are at most the sum needs the real ones.)

   Proven here, for the functions of masses.py as written down again below:
   - times_covers, halved_covers, cut_covers: each step keeps this;
   - power_covers: so does the loop, whatever is cut and wherever the grid is halved;
   - delta_covers: what is printed at the end is a bound on delta;
   - from_above_covers: the masses that are made of a curve cover every pair below the curve.

   On paper: that two lists written into two long numbers multiply as lists do, and that the
   enclosures of exponentials and of curves hold. *)

From Coq Require Import Reals ZArith List Lra Lia Psatz.
From Lemmas Require Import measures chords compositions grids.
Import ListNotations.
Open Scope R_scope.

Local Arguments Z.mul : simpl never.
Local Arguments Z.add : simpl never.

Record Masses := { low : Z; places : list Z; infinite : Z }.

Definition at_most (unit : Z) (x : R) (z : Z) : Prop := x * IZR unit <= IZR z.

Definition covers (b : R) (unit : Z) (M : Masses) (A : pair) : Prop :=
  exists x i, nonneg x /\ 0 <= i /\ sum x + i <= 1 /\
    Forall2 (at_most unit) x (places M) /\ at_most unit i (infinite M) /\
    below A (of_losses (losses b (low M) x i)).

(* Rounding up: -(-a // n). *)
Definition up (a n : Z) : Z := - ((- a) / n).

Lemma up_above a n : (0 < n)%Z -> (a <= up a n * n)%Z.
Proof. intros; unfold up; pose proof (Z.mul_div_le (- a) n); lia. Qed.

Fixpoint sumZ (l : list Z) : Z := match l with [] => 0%Z | a :: l' => (a + sumZ l')%Z end.

Lemma at_most_add n x y a c : at_most n x a -> at_most n y c -> at_most n (x + y) (a + c).
Proof. unfold at_most; rewrite plus_IZR; intros; lra. Qed.

Lemma at_most_sum n x z : Forall2 (at_most n) x z -> at_most n (sum x) (sumZ z).
Proof. induction 1; simpl; [unfold at_most; lra | apply at_most_add; auto]. Qed.

Lemma at_most_0 n : at_most n 0 0.
Proof. unfold at_most; lra. Qed.

Lemma at_most_length n x z : Forall2 (at_most n) x z -> length x = length z.
Proof. induction 1; simpl; auto. Qed.

(* times *)

Fixpoint addZ (x y : list Z) : list Z :=
  match x, y with
  | [], _ => y
  | _, [] => x
  | a :: x', c :: y' => (a + c)%Z :: addZ x' y'
  end.

Fixpoint convZ (x y : list Z) : list Z :=
  match x with [] => [] | a :: x' => addZ (map (Z.mul a) y) (0%Z :: convZ x' y) end.

Definition times_masses (unit : Z) (M N : Masses) : Masses :=
  {| low := low M + low N;
     places := map (fun s => up s unit) (convZ (places M) (places N));
     infinite := infinite M + infinite N |}.

Lemma addZ_at_most n x y a c : Forall2 (at_most n) x a -> Forall2 (at_most n) y c ->
  Forall2 (at_most n) (add x y) (addZ a c).
Proof.
  intros ha; revert y c; induction ha; intros ? ? hc; [auto |].
  inversion hc; subst; simpl; constructor; auto using at_most_add.
Qed.

Lemma convZ_at_most n x y a c : (0 < n)%Z -> nonneg x -> nonneg y ->
  Forall2 (at_most n) x a -> Forall2 (at_most n) y c ->
  Forall2 (at_most (n * n)) (conv x y) (convZ a c).
Proof.
  intros hn hx hy ha hc; apply IZR_lt in hn; induction ha as [| p s x a one ha IH]; [constructor |].
  inversion hx; subst; simpl; apply addZ_at_most; [| constructor; [apply at_most_0 | auto]].
  clear IH ha; induction hc as [| p' s' y c other hc IH]; simpl; constructor; inversion hy; subst; auto.
  unfold at_most in *; rewrite !mult_IZR.
  replace (p * p' * (IZR n * IZR n)) with (p * IZR n * (p' * IZR n)) by ring.
  apply Rmult_le_compat; auto; apply Rmult_le_pos; lra.
Qed.

Lemma up_at_most n x a : (0 < n)%Z ->
  Forall2 (at_most (n * n)) x a -> Forall2 (at_most n) x (map (fun s => up s n) a).
Proof.
  intros hn; induction 1 as [| p s x a one _ IH]; simpl; constructor; auto.
  unfold at_most in *; pose proof (up_above s n hn) as h; apply IZR_le in h.
  apply IZR_lt in hn; rewrite mult_IZR in *; nra.
Qed.

Theorem times_covers b n M N A B : 0 < b -> (0 < n)%Z -> proper A -> proper B ->
  covers b n M A -> covers b n N B -> covers b n (times_masses n M N) (times A B).
Proof.
  intros hb hn pA pB (x & i & hx & hi & sx & ax & ai & hA) (y & i' & hy & hi' & sy & ay & ai' & hB).
  pose proof (nonneg_sum x hx) as tx; pose proof (nonneg_sum y hy) as ty.
  destruct (infinite_masses (sum x) (sum y) i i' tx ty hi hi' sx sy) as [less total].
  exists (conv x y), (i * (i' + sum y) + i' * sum x).
  repeat split; cbn [low places infinite times_masses].
  - apply nonneg_conv; auto.
  - nra.
  - rewrite sum_conv; auto.
  - apply up_at_most, convZ_at_most; auto.
  - apply IZR_lt in hn; pose proof (at_most_add n i i' _ _ ai ai'); unfold at_most in *; nra.
  - intros t ht; rewrite <- grids_multiply by auto.
    apply times_below; auto using proper_of_losses, masses_of_losses.
Qed.

(* cut: how many places at the lower end are moved up, and how many then are kept. *)

Definition cut_masses (first kept : nat) (M : Masses) : Masses :=
  let rest := skipn first (places M) in
  match firstn kept rest with
  | [] => M
  | m :: middle =>
      {| low := low M + Z.of_nat first;
         places := (m + sumZ (firstn first (places M)))%Z :: middle;
         infinite := infinite M + sumZ (skipn kept rest) |}
  end.

Theorem cut_covers b n first kept M A : 1 <= b -> covers b n M A ->
  covers b n (cut_masses first kept M) A.
Proof.
  intros hb cover; unfold cut_masses.
  set (rest := skipn first (places M)); destruct (firstn kept rest) as [| m middle] eqn:some; auto.
  destruct cover as (x & i & hx & hi & sx & ax & ai & hA).
  assert (parts : places M = firstn first (places M) ++ (m :: middle) ++ skipn kept rest)
    by (rewrite <- some, firstn_skipn; symmetry; apply firstn_skipn).
  assert (long : length (firstn first (places M)) = first).
  { apply firstn_length_le; destruct (Nat.le_gt_cases first (length (places M))); auto.
    exfalso; unfold rest in some; rewrite skipn_all2, firstn_nil in some by lia; discriminate. }
  rewrite parts in ax; apply Forall2_app_inv_r in ax; destruct ax as (a & x' & aa & ax & ->).
  apply Forall2_app_inv_r in ax; destruct ax as (l & c & al & ac & ->).
  inversion al as [| p ? l' ? one al' e e']; subst l.
  apply Forall_app in hx; destruct hx as [ha hx]; apply Forall_app in hx; destruct hx as [hl hc].
  inversion hl as [| ? ? hp hl']; subst.
  assert (sums : forall y z, sum (y ++ z) = sum y + sum z)
    by (induction y as [| q y IH]; intros; simpl; [ring | rewrite IH; ring]).
  rewrite !sums in sx; simpl in sx.
  assert (la : length a = first) by (rewrite <- long; eapply at_most_length; eauto).
  pose proof (nonneg_sum a ha) as ta; pose proof (nonneg_sum c hc) as tc.
  exists (p + sum a :: l'), (i + sum c); repeat split; cbn [low places infinite sum]; try lra.
  - constructor; auto; lra.
  - constructor; auto; apply at_most_add; auto; apply at_most_sum; auto.
  - apply at_most_add; auto; apply at_most_sum; auto.
  - apply below_trans with (1 := hA); intros t ht.
    assert (old : nonneg (a ++ (p :: l') ++ c)) by (repeat (apply Forall_app; split); auto).
    assert (new : nonneg (p + sum a :: l')) by (constructor; auto; lra).
    rewrite !H_of_losses by (apply masses_of_losses; auto; lra); rewrite !delta_losses.
    pose proof (cut_low b (low M) a ((p :: l') ++ c) t hb ht ha) as lower.
    pose proof (cut_high b (low M + Z.of_nat (length a)) (p :: l') c t ltac:(lra) ht hc) as higher.
    rewrite la in *; simpl in *; fold (w b (low M + Z.of_nat first) t) in *; lra.
Qed.

(* halved: share / one of a mass at an odd place goes up, rounded up. *)

Fixpoint halve (share one carry : Z) (l : list Z) : list Z :=
  match l with
  | [] => [carry]
  | [e] => [(e + carry)%Z]
  | e :: o :: rest =>
      (e + o - up (o * share) one + carry)%Z :: halve share one (up (o * share) one) rest
  end.

Definition halved_masses (share one : Z) (M : Masses) : Masses :=
  {| low := low M / 2;
     places := halve share one 0 (if Z.odd (low M) then 0%Z :: places M else places M);
     infinite := infinite M |}.

(* At least e^h / (e^h + 1) of the masses go up, and not more than all of them. *)
Definition share_fits (b : R) (share one : Z) : Prop :=
  (0 < one)%Z /\ (share <= one)%Z /\ b * IZR one <= IZR share * (b + 1).

Lemma split_up b n share one x o : 1 < b -> (0 < n)%Z -> share_fits b share one ->
  0 <= x -> at_most n x o ->
  exists stay goes, stay + goes = x /\ 0 <= stay /\ 0 <= goes /\ x * b <= goes * (b + 1) /\
    at_most n stay (o - up (o * share) one) /\ at_most n goes (up (o * share) one).
Proof.
  intros hb hn (h1 & hs & fits) hx ho; set (u := up (o * share) one).
  pose proof (up_above (o * share) one h1) as above; fold u in above.
  unfold at_most in *; rewrite minus_IZR.
  apply IZR_lt in hn; apply IZR_lt in h1; apply IZR_le in hs; apply IZR_le in above.
  rewrite !mult_IZR in above.
  assert (o0 : 0 <= IZR o) by nra.
  assert (uo : IZR u <= IZR o).
  { apply IZR_le; unfold u, up; apply le_IZR in o0; apply le_IZR in hs; apply lt_IZR in h1.
    assert (- o <= - (o * share) / one)%Z; [| lia].
    apply Z.div_le_lower_bound; nia. }
  destruct (Rle_lt_or_eq_dec 0 (IZR o) o0) as [op | oz].
  - set (f := IZR u / IZR o); assert (ef : f * IZR o = IZR u) by (unfold f; field; lra).
    assert (fs : IZR share <= f * IZR one).
    { apply Rmult_le_reg_r with (IZR o); auto.
      replace (f * IZR one * IZR o) with (f * IZR o * IZR one) by ring; rewrite ef; lra. }
    assert (b <= f * (b + 1)) by (apply Rmult_le_reg_r with (IZR one); auto; nra).
    assert (0 <= f) by nra; assert (f <= 1) by nra.
    exists (x * (1 - f)), (x * f); repeat split; nra || (rewrite <- ef; nra).
  - assert (x = 0) by nra; exists 0, 0; subst x.
    assert (IZR u = 0).
    { apply eq_IZR in oz; unfold u, up; rewrite <- oz; reflexivity. }
    repeat split; lra.
Qed.

Lemma halve_covers b n share one l : 1 < b -> (0 < n)%Z -> share_fits b share one ->
  forall k c carry x, 0 <= c -> at_most n c carry -> nonneg x -> Forall2 (at_most n) x l ->
  exists y, nonneg y /\ Forall2 (at_most n) y (halve share one carry l) /\
    sum y = c + sum x /\
    forall t, 0 <= t ->
      c * w (b * b) k t + delta (grid b (2 * k) x) t <= delta (grid (b * b) k y) t.
Proof.
  intros hb hn fits.
  remember (length l) as size eqn:e; assert (small : (length l <= size)%nat) by lia; clear e.
  revert l small; induction size as [| size IH]; intros [| z [| o l]] small k c carry x hc ac hx ax;
    simpl in small; try lia; inversion ax as [| p ? x1 ? ap ax1]; subst; simpl.
  - exists [c]; repeat split; simpl; try lra; [constructor; auto; constructor | auto |].
    intros t _; fold (w (b * b) k t); lra.
  - exists [c]; repeat split; simpl; try lra; [constructor; auto; constructor | auto |].
    intros t _; fold (w (b * b) k t); lra.
  - inversion ax1; inversion hx; subst; exists [p + c]; repeat split; simpl; try lra.
    + constructor; [lra | constructor].
    + constructor; [apply at_most_add; auto | constructor].
    + intros t _; fold (w (b * b) k t); fold (w b (2 * k) t); rewrite w_halved by lra; lra.
  - inversion ax1 as [| q ? x2 ? aq ax2]; inversion hx as [| ? ? hp hx1]; subst.
    inversion hx1 as [| ? ? hq hx2]; subst.
    destruct (split_up b n share one q o hb hn fits hq aq)
      as (stay & goes & whole & hs & hg & enough & as_ & ag).
    destruct (IH l ltac:(lia) (k + 1)%Z goes _ x2 hg ag hx2 ax2) as (y & hy & ay & sy & curve).
    exists (p + stay + c :: y); repeat split; simpl.
    + constructor; auto; lra.
    + constructor; auto; replace (z + o - up (o * share) one + carry)%Z
        with (z + (o - up (o * share) one) + carry)%Z by lia; repeat apply at_most_add; auto.
    + rewrite sy; lra.
    + intros t ht; specialize (curve t ht).
      pose proof (odd_place b k stay goes t hb ht hs hg ltac:(rewrite whole; lra)) as odd.
      rewrite whole in odd; rewrite (w_halved b k) in * by lra.
      fold (w b (2 * k) t) (w b (2 * k + 1) t) (w (b * b) k t); rewrite (w_halved b k) by lra.
      replace (2 * (k + 1))%Z with (2 * k + 1 + 1)%Z in curve by lia; lra.
Qed.

Theorem halved_covers b n share one M A : 1 < b -> (0 < n)%Z -> share_fits b share one ->
  covers b n M A -> covers (b * b) n (halved_masses share one M) A.
Proof.
  intros hb hn fits (x & i & hx & hi & sx & ax & ai & hA).
  set (padded := if Z.odd (low M) then 0 :: x else x).
  assert (hp : nonneg padded) by (unfold padded; destruct (Z.odd _); auto; constructor; auto; lra).
  assert (sp : sum padded = sum x) by (unfold padded; destruct (Z.odd _); simpl; ring).
  destruct (halve_covers b n share one (if Z.odd (low M) then 0%Z :: places M else places M) hb hn
              fits (low M / 2) 0 0 padded ltac:(lra) (at_most_0 n) hp) as (y & hy & ay & sy & curve).
  { unfold padded; destruct (Z.odd _); auto; constructor; auto; apply at_most_0. }
  exists y, i; repeat split; cbn [low places infinite halved_masses]; auto; try lra.
  apply below_trans with (1 := hA); intros t ht; specialize (curve t ht).
  rewrite !H_of_losses by (apply masses_of_losses; auto; nra); rewrite !delta_losses.
  assert (delta (grid b (low M) x) t = delta (grid b (2 * (low M / 2)) padded) t); [| lra].
  pose proof (Z.div_mod (low M) 2 ltac:(lia)) as parity; rewrite Zmod_odd in parity.
  unfold padded; destruct (Z.odd (low M)); simpl.
  - replace (2 * (low M / 2) + 1)%Z with (low M) by lia; ring.
  - replace (2 * (low M / 2))%Z with (low M) by lia; auto.
Qed.

(* power: for each binary digit of the count after the first. *)

Record Step := {
  halving : option (Z * Z); (* share and one, where the grid is halved *)
  digit : bool;
  cut_first : nat;
  cut_kept : nat }.

Definition one_step (unit : Z) (found_once : Masses * Masses) (s : Step) : Masses * Masses :=
  let (found, once) := found_once in
  let squared := times_masses unit found found in
  let (squared, once) :=
    match halving s with
    | None => (squared, once)
    | Some (share, one) => (halved_masses share one squared, halved_masses share one once)
    end in
  let grown := if digit s then times_masses unit squared once else squared in
  (cut_masses (cut_first s) (cut_kept s) grown, once).

Definition power_masses (unit : Z) (M : Masses) (steps : list Step) : Masses :=
  fst (fold_left (one_step unit) steps (M, M)).

Definition counted (n : nat) (s : Step) : nat := (n + n + if digit s then 1 else 0)%nat.

(* The shares fit the grid that there is at each halving, and b' is the one at the end. *)
Fixpoint shares_fit (b : R) (steps : list Step) (b' : R) : Prop :=
  match steps with
  | [] => b' = b
  | s :: rest =>
      match halving s with
      | None => shares_fit b rest b'
      | Some (share, one) => share_fits b share one /\ shares_fit (b * b) rest b'
      end
  end.

Lemma loop_covers unit A steps : (0 < unit)%Z -> proper A ->
  forall b b' n found once, 1 < b -> shares_fit b steps b' ->
  covers b unit found (power A n) -> covers b unit once A ->
  covers b' unit (fst (fold_left (one_step unit) steps (found, once)))
    (power A (fold_left counted steps n)).
Proof.
  intros hu hA; induction steps as [| s steps IH]; intros b b' n found once hb fit hf ho.
  - simpl in fit; subst b'; auto.
  - assert (hp : forall m, proper (power A m)) by (intros; apply proper_power; auto).
    assert (square : covers b unit (times_masses unit found found) (power A (n + n)))
      by (rewrite power_add; apply times_covers; auto; lra).
    assert (later : forall b1 squared once', 1 < b1 -> shares_fit b1 steps b' ->
      covers b1 unit squared (power A (n + n)) -> covers b1 unit once' A ->
      covers b' unit
        (fst (fold_left (one_step unit) steps
           (cut_masses (cut_first s) (cut_kept s)
              (if digit s then times_masses unit squared once' else squared), once')))
        (power A (fold_left counted steps (counted n s)))).
    { intros b1 squared once' hb1 fit1 hs ho'; apply (IH b1); auto.
      apply cut_covers; [lra |]; unfold counted; destruct (digit s).
      - rewrite power_add; apply times_covers; auto; [lra |].
        destruct ho' as (x & i & h1 & h2 & h3 & h4 & h5 & h6).
        exists x, i; repeat split; auto; apply below_trans with (2 := h6).
        intros t _; cbn [power]; rewrite times_exchange, times_one; lra.
      - rewrite Nat.add_0_r; auto. }
    cbn [fold_left]; unfold one_step at 2; simpl in fit.
    destruct (halving s) as [[share one] |].
    + destruct fit as [fits fit]; apply (later (b * b)); auto using halved_covers; nra.
    + apply (later b); auto.
Qed.

Theorem power_covers unit A steps b b' M : (0 < unit)%Z -> proper A -> 1 < b ->
  shares_fit b steps b' -> covers b unit M A ->
  covers b' unit (power_masses unit M steps) (power A (fold_left counted steps 1%nat)).
Proof.
  intros hu hA hb fit hM; apply (loop_covers unit A steps hu hA b); auto.
  destruct hM as (x & i & h1 & h2 & h3 & h4 & h5 & h6).
  exists x, i; repeat split; auto; apply below_trans with (2 := h6).
  intros t _; cbn [power]; rewrite times_exchange, times_one; lra.
Qed.

(* Every count is reached: its binary digits, as bin(count)[3:] gives them. *)
Fixpoint digits (p : positive) : list bool :=
  match p with
  | xH => []
  | xO p' => digits p' ++ [false]
  | xI p' => digits p' ++ [true]
  end.

Theorem counts_reached p steps : map digit steps = digits p ->
  fold_left counted steps 1%nat = Pos.to_nat p.
Proof.
  intros e.
  assert (forall n, fold_left counted steps n =
    fold_left (fun n d => n + n + if d : bool then 1 else 0)%nat (map digit steps) n) as ->.
  { clear e; induction steps; intros; simpl; auto. }
  rewrite e; clear; induction p as [p IH | p IH |]; simpl; auto;
    rewrite fold_left_app, IH; simpl; lia.
Qed.

(* delta, at t = e^epsilon: the places below the first count for nothing. *)

Fixpoint weighed (one weight fall : Z) (l : list Z) : Z :=
  match l with
  | [] => 0
  | m :: rest => m * (one - weight) + weighed one (weight * fall / one) fall rest
  end.

Definition delta_masses (one weight fall : Z) (first : nat) (M : Masses) : Z :=
  infinite M * one + weighed one weight fall (skipn first (places M)).

Lemma weighed_above b n one fall t l : 1 < b -> (0 < n)%Z -> (0 < one)%Z -> 0 <= t ->
  (0 <= fall)%Z -> IZR fall * b <= IZR one ->
  forall k weight x, nonneg x -> Forall2 (at_most n) x l -> (0 <= weight)%Z ->
  t * v b k <= 1 -> IZR weight <= t * v b k * IZR one ->
  delta (grid b k x) t * (IZR n * IZR one) <= IZR (weighed one weight fall l).
Proof.
  intros hb hn h1 ht hf ef; induction l as [| m l IH]; intros k weight x hx ax hw tv ew;
    inversion ax as [| p ? x' ? ap ax']; subst; simpl; [lra |].
  inversion hx as [| ? ? hp hx']; subst.
  pose proof (v_positive b k ltac:(lra)) as vk; pose proof (v_falls b k ltac:(lra)) as vf.
  assert (R1 : 0 < IZR one) by (apply IZR_lt; auto); assert (Rn : 0 < IZR n) by (apply IZR_lt; auto).
  assert (Rw : 0 <= IZR weight) by (apply IZR_le; auto).
  assert (Rf : 0 <= IZR fall) by (apply IZR_le; auto).
  assert (ev : v b (k + 1) * b = v b k).
  { rewrite v_sum by lra; unfold v at 2; simpl; field; lra. }
  specialize (IH (k + 1)%Z (weight * fall / one)%Z x' hx' ax').
  assert (rest : delta (grid b (k + 1) x') t * (IZR n * IZR one) <=
                 IZR (weighed one (weight * fall / one) fall l)).
  { apply IH; [apply Z.div_pos; nia | nra |].
    pose proof (Z.mul_div_le (weight * fall) one h1) as d; apply IZR_le in d.
    rewrite !mult_IZR in d; apply Rmult_le_reg_r with (IZR one * b); [nra |].
    replace (t * v b (k + 1) * IZR one * (IZR one * b))
      with (t * (v b (k + 1) * b) * IZR one * IZR one) by ring; rewrite ev.
    apply Rle_trans with (IZR weight * (IZR fall * b)); [nra |].
    apply Rmult_le_compat; try nra. }
  rewrite plus_IZR, mult_IZR, minus_IZR, pos_of_positive by lra.
  unfold at_most in ap; rewrite Rmult_plus_distr_r.
  assert (p * (1 - t * v b k) * (IZR n * IZR one) <= IZR m * (IZR one - IZR weight)); [| lra].
  replace (p * (1 - t * v b k) * (IZR n * IZR one))
    with (p * IZR n * (IZR one - t * v b k * IZR one)) by ring.
  apply Rmult_le_compat; nra.
Qed.

Theorem delta_covers b n one weight fall first M A t : 1 < b -> (0 < n)%Z -> (0 < one)%Z ->
  0 <= t -> covers b n M A ->
  first = O \/ 1 <= t * v b (low M + Z.of_nat first - 1) ->
  t * v b (low M + Z.of_nat first) <= 1 ->
  (0 <= weight)%Z -> IZR weight <= t * v b (low M + Z.of_nat first) * IZR one ->
  (0 <= fall)%Z -> IZR fall * b <= IZR one ->
  H A t * (IZR n * IZR one) <= IZR (delta_masses one weight fall first M).
Proof.
  intros hb hn h1 ht (x & i & hx & hi & _ & ax & ai & hA) before here hw ew hf ef.
  assert (Rn : 0 < IZR n) by (apply IZR_lt; auto); assert (R1 : 0 < IZR one) by (apply IZR_lt; auto).
  specialize (hA t ht); rewrite H_of_losses in hA by (apply masses_of_losses; auto; lra).
  rewrite delta_losses in hA.
  unfold delta_masses; rewrite plus_IZR, mult_IZR.
  assert (delta (grid b (low M) x) t * (IZR n * IZR one) <=
          IZR (weighed one weight fall (skipn first (places M)))) as rest.
  2: { assert (0 < IZR n * IZR one) by (apply Rmult_lt_0_compat; auto).
       apply Rle_trans with ((i + delta (grid b (low M) x) t) * (IZR n * IZR one)); [nra |].
       unfold at_most in ai; nra. }
  clear hA ai; revert before here ew; generalize (low M) as k; revert first x hx ax.
  induction (places M) as [| m l IH]; intros first x hx ax k before here ew;
    inversion ax as [| p ? x' ? ap ax']; subst.
  - rewrite skipn_nil; simpl; lra.
  - destruct first as [| first].
    + simpl Z.of_nat in *; rewrite Z.add_0_r in *; rewrite skipn_O.
      apply (weighed_above b n); auto.
    + inversion hx; subst; simpl skipn; cbn [grid delta].
      replace (k + Z.of_nat (S first))%Z with (k + 1 + Z.of_nat first)%Z in * by lia.
      assert (farther : 1 <= t * v b k).
      { destruct before as [| before]; [discriminate |].
        apply Rle_trans with (1 := before); apply Rmult_le_compat_l; auto.
        replace (k + 1 + Z.of_nat first - 1)%Z with (k + Z.of_nat first)%Z by lia.
        clear - hb; induction first as [| f IHf]; [rewrite Z.add_0_r; lra |].
        apply Rle_trans with (2 := IHf).
        replace (k + Z.of_nat (S f))%Z with (k + Z.of_nat f + 1)%Z by lia; apply v_falls; lra. }
      rewrite pos_of_negative, Rmult_0_r, Rplus_0_l by lra; apply IH; auto.
      destruct before as [| before]; [discriminate | right; auto].
Qed.

(* from_above: the points of a curve are at some places, and every other place has no mass. A list
   of (n, height) says that n places without a point come before this one. *)

Fixpoint points (b : R) (k : Z) (gaps : list (nat * R)) : list point :=
  match gaps with
  | [] => []
  | (n, h) :: rest =>
      (powerRZ b (k + Z.of_nat n), h) :: points b (k + Z.of_nat n + 1) rest
  end.

Fixpoint spread {T} (zero : T) (gaps : list (nat * T)) : list T :=
  match gaps with [] => [] | (n, m) :: rest => repeat zero n ++ m :: spread zero rest end.

Lemma powers_rise b j k : 1 < b -> (j < k)%Z -> powerRZ b j < powerRZ b k.
Proof.
  intros hb h; replace k with (j + Z.of_nat (Z.to_nat (k - j)))%Z by lia.
  rewrite powerRZ_add, <- pow_powerRZ by lra.
  pose proof (powerRZ_lt b j ltac:(lra)).
  assert (1 < b ^ Z.to_nat (k - j)) by (apply Rlt_pow_R1; auto; lia); nra.
Qed.

Lemma points_ascend b j k h gaps : 1 < b -> (j < k)%Z -> ascending (powerRZ b j, h) (points b k gaps).
Proof.
  intros hb; revert j k h; induction gaps as [| [n h'] gaps IH]; simpl; intros j k h jk; auto.
  split; [apply powers_rise; auto; lia | apply IH; lia].
Qed.

Lemma masses_shape s a rest : exists ms i, length ms = length (a :: rest) /\
  masses s a rest = combine ms (map (fun p => 1 / fst p) (a :: rest)) ++ [(i, 0)].
Proof.
  revert s a; induction rest as [| c rest IH]; intros s a.
  - exists [fst a * (0 - s)], (snd a); auto.
  - destruct (IH (slope a c) c) as (ms & i & len & e).
    exists (fst a * (slope a c - s) :: ms), i; simpl in *; rewrite e, len; auto.
Qed.

Lemma grid_no_mass b k n l t :
  delta (grid b k (repeat 0 n ++ l)) t = delta (grid b (k + Z.of_nat n) l) t.
Proof.
  revert k; induction n as [| n IH]; intros k; simpl app; [rewrite Z.add_0_r; auto |].
  cbn [grid delta]; rewrite IH, Rmult_0_l, Rplus_0_l; f_equal; f_equal; lia.
Qed.

Lemma delta_spread b gaps ms t : 0 < b -> length ms = length gaps -> forall k,
  delta (grid b k (spread 0 (combine (map fst gaps) ms))) t =
  delta (combine ms (map (fun p => 1 / fst p) (points b k gaps))) t.
Proof.
  intros hb; revert ms; induction gaps as [| [n h] gaps IH]; intros [| m ms] len k;
    simpl in len; try discriminate; auto.
  cbn [map fst combine spread points]; rewrite grid_no_mass; cbn [grid delta].
  rewrite IH by lia; f_equal; f_equal; f_equal; f_equal; f_equal.
  unfold v, Rdiv; rewrite powerRZ_neg', Rmult_1_l; auto.
Qed.

Lemma heights_at_most unit us ms zs : length ms = length us -> masses_of (combine ms us) ->
  Forall2 (fun o z => at_most unit (fst o) z) (combine ms us) zs ->
  nonneg ms /\ Forall2 (at_most unit) ms zs.
Proof.
  revert us zs; induction ms as [| m ms IH]; intros [| u us] zs len hm bounds; simpl in *; try lia;
    inversion bounds; subst; [split; constructor |].
  inversion hm as [| ? ? [h _] hm']; subst; simpl in h; destruct (IH us _ ltac:(lia) hm' ltac:(eauto)).
  split; constructor; auto.
Qed.

Theorem from_above_covers b unit f k gaps a rest zs inf A : 1 < b ->
  convex f -> falls f -> (forall t, 0 <= t -> 0 <= f t) -> f 0 = 1 ->
  points b k gaps = a :: rest -> Forall (on f) (a :: rest) ->
  Forall2 (fun o z => at_most unit (fst o) z) (all_masses a rest) (zs ++ [inf]) ->
  (forall t, 0 <= t -> H A t <= f t) ->
  covers b unit
    {| low := k; places := spread 0%Z (combine (map fst gaps) zs); infinite := inf |} A.
Proof.
  intros hb hf fall hp f0 nodes fs bounds hA.
  assert (asc : 0 < fst a /\ ascending a rest).
  { destruct gaps as [| [n h] gaps]; simpl in nodes; [discriminate |].
    injection nodes as <- <-; split; [apply powerRZ_lt; lra | apply points_ascend; auto; lia]. }
  destruct asc as [ha asc].
  assert (ln : length gaps = length (a :: rest)).
  { rewrite <- nodes; clear; revert k; induction gaps as [| [n h] gaps IH]; simpl; auto. }
  pose proof (masses_nonneg f a rest hf fall hp f0 ha asc fs) as hm.
  destruct (masses_shape (slope start a) a rest) as (ms & i & len & shape).
  fold (all_masses a rest) in shape; rewrite shape in hm, bounds.
  apply Forall_app in hm; destruct hm as [hm hi]; inversion hi as [| ? ? [hi' _] _]; subst.
  simpl in hi'; apply Forall2_app_inv_l in bounds.
  destruct bounds as (zs' & last & bounds & one & e).
  inversion one as [| ? inf' ? ? bi none]; subst; inversion none; subst.
  apply app_inj_tail in e; destruct e as [<- <-]; simpl in bi.
  assert (curve : forall t, i + delta (grid b k (spread 0 (combine (map fst gaps) ms))) t =
                            delta (all_masses a rest) t).
  { intros t; rewrite delta_spread, nodes, shape by (lra || congruence).
    generalize (combine ms (map (fun p => 1 / fst p) (a :: rest))) as L.
    induction L as [| [m u] L IH]; simpl; [| lra].
    replace (1 - t * 0) with 1 by ring; rewrite (pos_of_positive 1); lra. }
  assert (hx : nonneg ms /\ Forall2 (at_most unit) ms zs).
  { apply (heights_at_most unit (map (fun p => 1 / fst p) (a :: rest))); auto.
    rewrite map_length; auto. }
  destruct hx as [hx ax].
  assert (hs : nonneg (spread 0 (combine (map fst gaps) ms)) /\
    Forall2 (at_most unit) (spread 0 (combine (map fst gaps) ms))
      (spread 0%Z (combine (map fst gaps) zs))).
  { revert hx ax; clear; revert ms zs; induction gaps as [| [n h] gaps IH]; intros ms zs hx ax;
      [split; constructor |].
    destruct ax as [| m z ms zs one ax]; [split; constructor |]; inversion hx; subst.
    destruct (IH ms zs) as [h1 h2]; auto; cbn [map fst combine spread].
    clear IH; induction n as [| n [IH1 IH2]]; simpl; split; constructor; auto using at_most_0; lra. }
  destruct hs as [hs as_].
  exists (spread 0 (combine (map fst gaps) ms)), i; repeat split; cbn [low places infinite]; auto.
  - rewrite <- (masses_total a rest ha asc), <- delta_at_0, <- curve, delta_at_0.
    rewrite masses_of_grid_sum; lra.
  - intros t ht; rewrite H_of_losses by (apply masses_of_losses; auto; lra).
    rewrite delta_losses, curve, masses_exact by auto.
    apply Rle_trans with (1 := hA t ht); apply chords_above; auto; [lra |].
    eapply Forall_impl; [| exact fs]; unfold on, over; intros; lra.
Qed.
