(* Tests from below: rdpkit/kernel/masses.py with two lists, and docs/theory/kernel.md under
   "Tests from below".

   Every outcome of a release has a whole number as its label, or is never in the test, or always.
   A state of the kernel "attains" a pair if there are such labels for which the integers are bounds:
   P from below and Q from above. Formally: a coarser pair, whose outcomes are "never", "always" and
   the labels, has a curve below the pair's.

   Proven here:
   - merged_below: putting outcomes together lowers a curve;
   - times_attains, halved_attains, cut_attains: each step keeps this;
   - squares_attain: so does the loop;
   - best_attains: every number among which the kernel takes the largest is at most delta. *)

From Coq Require Import Reals ZArith List Lra Lia Psatz.
From Lemmas Require Import measures compositions grids loop.
Import ListNotations.
Open Scope R_scope.

Local Arguments Z.mul : simpl never.
Local Arguments Z.add : simpl never.

Record Tests := {
  lowest : Z; under_p : list Z; under_q : list Z; always_p : Z; always_q : Z }.

Definition at_least (unit : Z) (x : R) (z : Z) : Prop := IZR z <= x * IZR unit.

Definition bounds (unit : Z) (M : Tests) (always : R * R) (cells : pair) : Prop :=
  Forall2 (at_least unit) (map fst cells) (under_p M) /\
  Forall2 (at_most unit) (map snd cells) (under_q M) /\
  Forall (Z.le 0) (under_p M) /\
  at_least unit (fst always) (always_p M) /\ at_most unit (snd always) (always_q M).

Definition probability (A : pair) : Prop := proper A /\ mass_P A = 1 /\ mass_Q A = 1.

Definition attains (unit : Z) (M : Tests) (A : pair) : Prop :=
  exists never always cells, probability (never :: always :: cells) /\
    below (never :: always :: cells) A /\ bounds unit M always cells.

(* Putting outcomes together. *)

Definition plus (o o' : R * R) : R * R := (fst o + fst o', snd o + snd o').

Definition whole (A : pair) : R * R := (mass_P A, mass_Q A).

Lemma H_plus o o' t : H [plus o o'] t <= H [o] t + H [o'] t.
Proof.
  destruct o as [a c], o' as [a' c']; simpl.
  pose proof (pos_of_sum (a - t * c) (a' - t * c')) as two.
  replace (a + a' - t * (c + c')) with (a - t * c + (a' - t * c')) by ring; lra.
Qed.

Theorem merged_below A t : H [whole A] t <= H A t.
Proof.
  induction A as [| o A IH].
  - unfold whole, mass_P, mass_Q; simpl; pos_cases; lra.
  - replace (whole (o :: A)) with (plus o (whole A)) by auto.
    replace (H (o :: A) t) with (H [o] t + H A t) by (destruct o; simpl; lra).
    pose proof (H_plus o (whole A) t); lra.
Qed.

Fixpoint add_cells (x y : pair) : pair :=
  match x, y with
  | [], _ => y
  | _, [] => x
  | o :: x', o' :: y' => plus o o' :: add_cells x' y'
  end.

Fixpoint conv_cells (x y : pair) : pair :=
  match x with [] => [] | o :: x' => add_cells (scale o y) ((0, 0) :: conv_cells x' y) end.

Lemma H_cons o A t : H (o :: A) t = H [o] t + H A t.
Proof. destruct o; simpl; lra. Qed.

Lemma H_add_cells x y t : H (add_cells x y) t <= H x t + H y t.
Proof.
  revert y; induction x as [| o x IH]; intros [| o' y]; simpl add_cells; try (simpl; lra).
  rewrite (H_cons (plus o o')), (H_cons o x), (H_cons o' y).
  pose proof (H_plus o o' t); specialize (IH y); lra.
Qed.

Lemma H_zero A t : H ((0, 0) :: A) t = H A t.
Proof. simpl; rewrite (pos_of_negative (0 - t * 0)); lra. Qed.

Lemma H_conv_cells x y t : H (conv_cells x y) t <= H (times x y) t.
Proof.
  induction x as [| o x IH]; [simpl; lra |].
  change (times (o :: x) y) with (scale o y ++ times x y); rewrite H_app.
  change (conv_cells (o :: x) y) with (add_cells (scale o y) ((0, 0) :: conv_cells x y)).
  pose proof (H_add_cells (scale o y) ((0, 0) :: conv_cells x y) t) as two.
  rewrite H_zero in two; lra.
Qed.

Lemma fst_conv x y : map fst (conv_cells x y) = conv (map fst x) (map fst y).
Proof.
  assert (adds : forall x y, map fst (add_cells x y) = add (map fst x) (map fst y)).
  { induction x0 as [| o x0 IH]; intros [| o' y0]; simpl; auto; rewrite IH; auto. }
  induction x as [| o x IH]; auto; simpl conv_cells; rewrite adds; simpl; rewrite IH.
  f_equal; unfold scale; rewrite !map_map; auto.
Qed.

Lemma snd_conv x y : map snd (conv_cells x y) = conv (map snd x) (map snd y).
Proof.
  assert (adds : forall x y, map snd (add_cells x y) = add (map snd x) (map snd y)).
  { induction x0 as [| o x0 IH]; intros [| o' y0]; simpl; auto; rewrite IH; auto. }
  induction x as [| o x IH]; auto; simpl conv_cells; rewrite adds; simpl; rewrite IH.
  f_equal; unfold scale; rewrite !map_map; auto.
Qed.

Lemma proper_by_parts A : nonneg (map fst A) -> nonneg (map snd A) -> proper A.
Proof.
  induction A as [| [a c] A IH]; simpl; intros h h'; [constructor |].
  inversion h; inversion h'; subst; apply proper_cons; auto.
Qed.

Lemma parts_of_proper A : proper A -> nonneg (map fst A) /\ nonneg (map snd A).
Proof.
  induction A as [| [a c] A IH]; simpl; intros h; [split; constructor |].
  apply proper_cons in h; destruct h as (ha & hc & h); destruct (IH h).
  split; constructor; auto.
Qed.

(* times *)

Definition times_tests (unit : Z) (M N : Tests) : Tests :=
  {| lowest := lowest M + lowest N;
     under_p := map (fun s => (s / unit)%Z) (convZ (under_p M) (under_p N));
     under_q := map (fun s => up s unit) (convZ (under_q M) (under_q N));
     always_p := always_p M + always_p N - always_p M * always_p N / unit - 1;
     always_q := always_q M + always_q N |}.

Lemma convZ_at_least n x y a c : (0 < n)%Z -> Forall (Z.le 0) a -> Forall (Z.le 0) c ->
  Forall2 (at_least n) x a -> Forall2 (at_least n) y c ->
  Forall (Z.le 0) (convZ a c) /\ Forall2 (at_least (n * n)) (conv x y) (convZ a c).
Proof.
  intros hn pa pc ha hc; apply IZR_lt in hn.
  assert (sums : forall m x y a c, Forall2 (at_least m) x a -> Forall2 (at_least m) y c ->
    Forall (Z.le 0) a -> Forall (Z.le 0) c ->
    Forall (Z.le 0) (addZ a c) /\ Forall2 (at_least m) (add x y) (addZ a c)).
  { clear; intros m x y a c ha; revert y c; induction ha as [| p s x a one ha IH]; intros y c hc pa pc.
    - simpl; auto.
    - inversion hc as [| p' s' y' c' two hc']; subst; simpl; auto.
      inversion pa as [| ? ? ps pa']; inversion pc as [| ? ? ps' pc']; subst.
      destruct (IH _ _ hc' pa' pc'); split; constructor; auto; [lia |].
      unfold at_least in *; rewrite plus_IZR; lra. }
  induction ha as [| p s x a one ha IH]; [split; constructor |].
  inversion pa as [| ? ? ps pa']; subst.
  destruct (IH pa') as [IH1 IH2]; simpl; apply sums; auto.
  - clear - hc pc one hn ps; induction hc as [| p' s' y c other hc IH]; simpl; constructor;
      inversion pc as [| ? ? ps' pc']; subst; auto.
    unfold at_least in *; rewrite !mult_IZR.
    replace (p * p' * (IZR n * IZR n)) with (p * IZR n * (p' * IZR n)) by ring.
    apply IZR_le in ps; apply IZR_le in ps'; apply Rmult_le_compat; auto.
  - constructor; auto; unfold at_least; lra.
  - clear - pc ps; induction pc; simpl; constructor; auto; nia.
  - constructor; auto; lia.
Qed.

Lemma down_at_least n x a : (0 < n)%Z -> Forall (Z.le 0) a -> Forall2 (at_least (n * n)) x a ->
  Forall (Z.le 0) (map (fun s => (s / n)%Z) a) /\
  Forall2 (at_least n) x (map (fun s => (s / n)%Z) a).
Proof.
  intros hn pa; induction 1 as [| p s x a one _ IH]; simpl; [split; constructor |].
  inversion pa as [| ? ? ps pa']; subst; destruct (IH pa'); split; constructor; auto;
    [apply Z.div_pos; lia |].
  unfold at_least in *; pose proof (Z.mul_div_le s n hn) as h; apply IZR_le in h.
  apply IZR_lt in hn; rewrite mult_IZR in *; nra.
Qed.

(* What is never, or always, in one of two halves. *)

Definition coarse_never (n : R * R) (cs : pair) (n' : R * R) (ds : pair) : R * R :=
  whole (scale n [n'] ++ scale n ds ++ times cs [n']).

Definition coarse_always (a : R * R) (D : pair) (n : R * R) (cs : pair) (a' : R * R) : R * R :=
  whole (scale a D ++ scale n [a'] ++ times cs [a']).

Lemma times_coarse n a cs n' a' ds t :
  H (coarse_never n cs n' ds :: coarse_always a (n' :: a' :: ds) n cs a' :: conv_cells cs ds) t <=
  H (times (n :: a :: cs) (n' :: a' :: ds)) t.
Proof.
  rewrite (H_cons (coarse_never _ _ _ _)), (H_cons (coarse_always _ _ _ _ _)).
  pose proof (merged_below (scale n [n'] ++ scale n ds ++ times cs [n']) t) as h1.
  pose proof (merged_below (scale a (n' :: a' :: ds) ++ scale n [a'] ++ times cs [a']) t) as h2.
  pose proof (H_conv_cells cs ds t) as h3.
  change (times (n :: a :: cs) (n' :: a' :: ds)) with
    (scale n ([n'] ++ [a'] ++ ds) ++ scale a (n' :: a' :: ds) ++ times cs ([n'] ++ [a'] ++ ds)).
  assert (split_scale : forall o A B, H (scale o (A ++ B)) t = H (scale o A) t + H (scale o B) t)
    by (intros; unfold scale; rewrite map_app, H_app; auto).
  assert (split_times : forall A B, H (times cs (A ++ B)) t = H (times cs A) t + H (times cs B) t).
  { intros A B; clear; induction cs as [| c cs IH]; [simpl; lra |].
    change (times (c :: cs) (A ++ B)) with (scale c (A ++ B) ++ times cs (A ++ B)).
    change (times (c :: cs) A) with (scale c A ++ times cs A).
    change (times (c :: cs) B) with (scale c B ++ times cs B).
    unfold scale at 1; rewrite map_app; fold (scale c A); fold (scale c B).
    rewrite !H_app, IH; lra. }
  unfold coarse_never, coarse_always.
  rewrite !H_app in *; rewrite !split_scale, !split_times in *; lra.
Qed.

Lemma mass_P_app A B : mass_P (A ++ B) = mass_P A + mass_P B.
Proof. unfold mass_P; induction A as [| o A IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma mass_Q_app A B : mass_Q (A ++ B) = mass_Q A + mass_Q B.
Proof. unfold mass_Q; induction A as [| o A IH]; simpl; [ring | rewrite IH; ring]. Qed.

Lemma mass_scale o A : mass_P (scale o A) = fst o * mass_P A /\ mass_Q (scale o A) = snd o * mass_Q A.
Proof.
  unfold mass_P, mass_Q; induction A as [| c A [IH1 IH2]]; simpl; [lra | rewrite IH1, IH2; lra].
Qed.

Lemma mass_times A B :
  mass_P (times A B) = mass_P A * mass_P B /\ mass_Q (times A B) = mass_Q A * mass_Q B.
Proof.
  induction A as [| o A [IH1 IH2]]; [unfold mass_P, mass_Q; simpl; lra |].
  change (times (o :: A) B) with (scale o B ++ times A B).
  rewrite mass_P_app, mass_Q_app; destruct (mass_scale o B) as [-> ->]; rewrite IH1, IH2.
  unfold mass_P, mass_Q; simpl; lra.
Qed.

Theorem times_attains unit M N A B : (0 < unit)%Z -> proper A -> proper B ->
  attains unit M A -> attains unit N B -> attains unit (times_tests unit M N) (times A B).
Proof.
  intros hu hA hB (n & a & cs & (pc & oP & oQ) & bA & (b1 & b2 & b3 & b4 & b5))
    (n' & a' & ds & (pd & oP' & oQ') & bB & (d1 & d2 & d3 & d4 & d5)).
  pose proof (parts_of_proper _ pc) as [cP cQ]; pose proof (parts_of_proper _ pd) as [dP dQ].
  inversion cP as [| ? ? n1 cP1]; inversion cP1 as [| ? ? a1 cP2]; subst.
  inversion cQ as [| ? ? n2 cQ1]; inversion cQ1 as [| ? ? a2 cQ2]; subst.
  inversion dP as [| ? ? n1' dP1]; inversion dP1 as [| ? ? a1' dP2]; subst.
  inversion dQ as [| ? ? n2' dQ1]; inversion dQ1 as [| ? ? a2' dQ2]; subst.
  simpl in *; pose proof (nonneg_sum _ cP2) as s1; pose proof (nonneg_sum _ cQ2) as s2.
  pose proof (nonneg_sum _ dP2) as s3; pose proof (nonneg_sum _ dQ2) as s4.
  unfold mass_P, mass_Q in oP, oQ, oP', oQ'; simpl in *.
  destruct (convZ_at_least unit _ _ _ _ hu b3 d3 b1 d1) as [g1 g2].
  destruct (down_at_least unit _ _ hu g1 g2) as [g3 g4].
  exists (coarse_never n cs n' ds), (coarse_always a (n' :: a' :: ds) n cs a'), (conv_cells cs ds).
  assert (values :
    fst (coarse_never n cs n' ds) =
      fst n * fst n' + (fst n * sum (map fst ds) + sum (map fst cs) * fst n') /\
    snd (coarse_never n cs n' ds) =
      snd n * snd n' + (snd n * sum (map snd ds) + sum (map snd cs) * snd n') /\
    fst (coarse_always a (n' :: a' :: ds) n cs a') =
      fst a + (fst n * fst a' + sum (map fst cs) * fst a') /\
    snd (coarse_always a (n' :: a' :: ds) n cs a') =
      snd a + (snd n * snd a' + sum (map snd cs) * snd a')).
  { unfold coarse_never, coarse_always, whole; cbn [fst snd].
    rewrite !mass_P_app, !mass_Q_app.
    rewrite !(proj1 (mass_scale _ _)), !(proj2 (mass_scale _ _)).
    rewrite !(proj1 (mass_times _ _)), !(proj2 (mass_times _ _)).
    unfold mass_P, mass_Q; simpl; rewrite oP', oQ'; repeat split; ring. }
  destruct values as (v1 & v2 & v3 & v4).
  split; [split; [| split] | split; [| split; [| split; [| split; [| split]]]]].
  - apply proper_by_parts; cbn [map].
    + rewrite v1, v3, fst_conv; constructor; [| constructor; [| apply nonneg_conv; auto]];
        repeat (apply Rplus_le_le_0_compat || apply Rmult_le_pos); auto.
    + rewrite v2, v4, snd_conv; constructor; [| constructor; [| apply nonneg_conv; auto]];
        repeat (apply Rplus_le_le_0_compat || apply Rmult_le_pos); auto.
  - unfold mass_P; cbn [map sum]; rewrite v1, v3, fst_conv, sum_conv.
    clear - oP oP'; replace (sum (map fst cs)) with (1 - fst n - fst a) by lra.
    replace (sum (map fst ds)) with (1 - fst n' - fst a') by lra; ring.
  - unfold mass_Q; cbn [map sum]; rewrite v2, v4, snd_conv, sum_conv.
    clear - oQ oQ'; replace (sum (map snd cs)) with (1 - snd n - snd a) by lra.
    replace (sum (map snd ds)) with (1 - snd n' - snd a') by lra; ring.
  - intros t ht; eapply Rle_trans; [apply times_coarse |]; apply times_below; auto.
  - rewrite fst_conv; exact g4.
  - rewrite snd_conv; apply up_at_most, convZ_at_most; auto.
  - exact g3.
  - rewrite v3; unfold at_least in *; simpl; rewrite !minus_IZR, plus_IZR.
    pose proof (Z.mul_succ_div_gt (always_p M * always_p N) unit hu) as d.
    assert (d' : (always_p M * always_p N <= unit * (always_p M * always_p N / unit) + unit)%Z) by lia.
    apply IZR_le in d'; rewrite plus_IZR, !mult_IZR in d'; apply IZR_lt in hu.
    set (p := IZR (always_p M)) in *; set (p' := IZR (always_p N)) in *.
    set (k := IZR (always_p M * always_p N / unit)) in *; set (u := IZR unit) in *.
    replace (fst a + (fst n * fst a' + sum (map fst cs) * fst a'))
      with (fst a + (1 - fst a) * fst a')
      by (replace (sum (map fst cs)) with (1 - fst n - fst a) by lra; ring).
    apply Rmult_le_reg_r with u; auto.
    assert (fst a <= 1 /\ fst a' <= 1) as [a3 a3'] by lra.
    clear - b4 d4 d' hu a1 a1' a3 a3'; generalize dependent (fst a); generalize dependent (fst a').
    intros x' d4 a1' a3' x b4 a1 a3.
    assert (p <= u) by nra; assert (p' <= u) by nra.
    assert ((p + p') * u - p * p' <= (x + (1 - x) * x') * u * u); [| nra].
    assert ((u - x * u) * (u - x' * u) <= (u - p) * (u - p')); [| nra].
    apply Rmult_le_compat; nra.
  - rewrite v4; pose proof (at_most_add unit (snd a) (snd a') _ _ b5 d5) as both.
    assert (snd n + sum (map snd cs) <= 1) by lra.
    assert (less : snd n * snd a' + sum (map snd cs) * snd a' <= snd a').
    { replace (snd n * snd a' + sum (map snd cs) * snd a')
        with ((snd n + sum (map snd cs)) * snd a') by ring; nra. }
    clear - both hu less; unfold at_most in *; simpl; apply IZR_lt in hu; nra.
Qed.

(* cut: what is below is never in the test from then on, and what is above always. *)

Definition cut_tests (first kept : nat) (M : Tests) : Tests :=
  {| lowest := lowest M + Z.of_nat first;
     under_p := firstn kept (skipn first (under_p M));
     under_q := firstn kept (skipn first (under_q M));
     always_p := always_p M + sumZ (skipn kept (skipn first (under_p M)));
     always_q := always_q M + sumZ (skipn kept (skipn first (under_q M))) |}.

Lemma slices {T U} (R : T -> U -> Prop) n l l' : Forall2 R l l' ->
  Forall2 R (firstn n l) (firstn n l') /\ Forall2 R (skipn n l) (skipn n l').
Proof.
  intros h; revert n; induction h; intros [| n]; simpl; repeat split; auto.
  - constructor; auto; apply IHh.
  - apply IHh.
Qed.

Lemma slice {T} (R : T -> Prop) n l : Forall R l -> Forall R (firstn n l) /\ Forall R (skipn n l).
Proof. intros h; rewrite <- (firstn_skipn n l) in h; apply Forall_app in h; auto. Qed.

Lemma at_least_sum n x z : Forall2 (at_least n) x z -> at_least n (sum x) (sumZ z).
Proof.
  induction 1; simpl; unfold at_least in *; [lra | rewrite plus_IZR; lra].
Qed.

Theorem cut_attains unit first kept M A : attains unit M A -> attains unit (cut_tests first kept M) A.
Proof.
  intros (n & a & cs & (pc & oP & oQ) & bA & (b1 & b2 & b3 & b4 & b5)).
  set (lower := firstn first cs); set (rest := skipn first cs).
  set (middle := firstn kept rest); set (upper := skipn kept rest).
  assert (parts : cs = lower ++ middle ++ upper)
    by (unfold middle, upper; rewrite firstn_skipn; symmetry; apply firstn_skipn).
  assert (pL : proper lower /\ proper middle /\ proper upper).
  { assert (pc2 : proper cs) by (destruct n, a; apply proper_cons in pc;
      destruct pc as (_ & _ & pc); apply proper_cons in pc; tauto).
    rewrite parts in pc2; apply Forall_app in pc2; destruct pc2 as [h1 h2].
    apply Forall_app in h2; tauto. }
  destruct pL as (pL & pM & pU).
  pose proof (nonneg_sum _ (proj1 (parts_of_proper _ pL))) as l1.
  pose proof (nonneg_sum _ (proj2 (parts_of_proper _ pL))) as l2.
  pose proof (nonneg_sum _ (proj1 (parts_of_proper _ pU))) as u1.
  pose proof (nonneg_sum _ (proj2 (parts_of_proper _ pU))) as u2.
  destruct n as [n n'], a as [a a'].
  apply proper_cons in pc; destruct pc as (hn & hn' & pc).
  apply proper_cons in pc; destruct pc as (ha & ha' & pc).
  exists (plus (n, n') (whole lower)), (plus (a, a') (whole upper)), middle.
  assert (tP : mass_P cs = mass_P lower + (mass_P middle + mass_P upper))
    by (rewrite parts, !mass_P_app; auto).
  assert (tQ : mass_Q cs = mass_Q lower + (mass_Q middle + mass_Q upper))
    by (rewrite parts, !mass_Q_app; auto).
  unfold mass_P, mass_Q in *; simpl in oP, oQ, b4, b5.
  destruct (slices _ first _ _ b1) as [_ p1]; destruct (slices _ kept _ _ p1) as [p2 p3].
  destruct (slices _ first _ _ b2) as [_ q1]; destruct (slices _ kept _ _ q1) as [q2 q3].
  rewrite !skipn_map in *; rewrite !firstn_map in *.
  fold rest middle upper in p2, p3, q2, q3.
  split; [split; [| split] | split; [| split; [| split; [| split; [| split]]]]].
  - unfold plus, whole, mass_P, mass_Q; simpl; apply proper_cons; repeat split; try lra.
    apply proper_cons; repeat split; auto; lra.
  - unfold mass_P, whole; simpl; unfold mass_P; lra.
  - unfold mass_Q, whole; simpl; unfold mass_Q; lra.
  - intros t ht; eapply Rle_trans; [| apply bA; auto].
    rewrite (H_cons (plus _ _)), (H_cons (plus (a, a') _)), (H_cons (n, n')), (H_cons (a, a')).
    rewrite parts, !H_app.
    pose proof (H_plus (n, n') (whole lower) t); pose proof (H_plus (a, a') (whole upper) t).
    pose proof (merged_below lower t); pose proof (merged_below upper t); lra.
  - exact p2.
  - exact q2.
  - simpl; apply slice, slice; auto.
  - pose proof (at_least_sum _ _ _ p3); unfold at_least, whole, mass_P in *; simpl.
    rewrite plus_IZR; lra.
  - pose proof (at_most_sum _ _ _ q3); unfold at_most, whole, mass_Q in *; simpl.
    rewrite plus_IZR; lra.
Qed.

(* halved: every sum s becomes the integer below s / 2, which is another test. *)

Fixpoint pair_up (l : list Z) : list Z :=
  match l with [] => [0%Z] | [e] => [e] | e :: o :: rest => (e + o)%Z :: pair_up rest end.

Definition halved_tests (M : Tests) : Tests :=
  let pad l := if Z.odd (lowest M) then 0%Z :: l else l in
  {| lowest := lowest M / 2;
     under_p := pair_up (pad (under_p M));
     under_q := pair_up (pad (under_q M));
     always_p := always_p M;
     always_q := always_q M |}.

Lemma pair_up_attains unit cs : forall ps qs, proper cs ->
  Forall2 (at_least unit) (map fst cs) ps -> Forall2 (at_most unit) (map snd cs) qs ->
  Forall (Z.le 0) ps ->
  exists ds, proper ds /\ mass_P ds = mass_P cs /\ mass_Q ds = mass_Q cs /\
    (forall t, H ds t <= H cs t) /\ Forall2 (at_least unit) (map fst ds) (pair_up ps) /\
    Forall2 (at_most unit) (map snd ds) (pair_up qs) /\ Forall (Z.le 0) (pair_up ps).
Proof.
  remember (length cs) as size eqn:e; assert (small : (length cs <= size)%nat) by lia; clear e.
  revert cs small; induction size as [| size IH]; intros [| [a a'] [| [c c'] cs]] small ps qs pc hp hq pos_;
    simpl in small; try lia; simpl in hp, hq;
    inversion hp as [| ? z ? ps1 z1 hp1]; inversion hq as [| ? y ? qs1 y1 hq1]; subst.
  1, 2: exists [(0, 0)]; repeat split; simpl; auto; try (unfold mass_P, mass_Q; simpl; ring);
    [apply proper_cons; repeat split; try lra; constructor
    | intros t; rewrite pos_of_negative; lra
    | constructor; [unfold at_least; lra | constructor]
    | constructor; [unfold at_most; lra | constructor]
    | constructor; [lia | constructor]].
  - inversion hp1; inversion hq1; subst; exists [(a, a')]; repeat split; simpl; auto; intros; lra.
  - inversion hp1 as [| ? z' ? ps2 z2 hp2]; inversion hq1 as [| ? y' ? qs2 y2 hq2]; subst.
    inversion pos_ as [| ? ? g1 pos1]; inversion pos1 as [| ? ? g2 pos2]; subst.
    apply proper_cons in pc; destruct pc as (ha & ha' & pc).
    apply proper_cons in pc; destruct pc as (hc & hc' & pc).
    destruct (IH cs ltac:(lia) ps2 qs2 pc hp2 hq2 pos2) as (ds & d1 & d2 & d3 & d4 & d5 & d6 & d7).
    exists (plus (a, a') (c, c') :: ds); repeat split.
    + apply proper_cons; simpl; repeat split; auto; lra.
    + unfold mass_P in *; simpl; lra.
    + unfold mass_Q in *; simpl; lra.
    + intros t; rewrite (H_cons (plus _ _)), (H_cons (a, a')), (H_cons (c, c')).
      pose proof (H_plus (a, a') (c, c') t); specialize (d4 t); lra.
    + simpl; constructor; auto; unfold at_least in *; rewrite plus_IZR; lra.
    + simpl; constructor; auto; apply at_most_add; auto.
    + simpl; constructor; auto; lia.
Qed.

Theorem halved_attains unit M A : attains unit M A -> attains unit (halved_tests M) A.
Proof.
  intros (n & a & cs & (pc & oP & oQ) & bA & (b1 & b2 & b3 & b4 & b5)).
  destruct n as [n n'], a as [a a'].
  apply proper_cons in pc; destruct pc as (hn & hn' & pc).
  apply proper_cons in pc; destruct pc as (ha & ha' & pc).
  set (padded := if Z.odd (lowest M) then (0, 0) :: cs else cs).
  destruct (pair_up_attains unit padded
    (if Z.odd (lowest M) then 0%Z :: under_p M else under_p M)
    (if Z.odd (lowest M) then 0%Z :: under_q M else under_q M)) as (ds & d1 & d2 & d3 & d4 & d5 & d6 & d7).
  - unfold padded; destruct (Z.odd _); auto; apply proper_cons; repeat split; auto; lra.
  - unfold padded; destruct (Z.odd _); simpl; auto; constructor; auto; unfold at_least; lra.
  - unfold padded; destruct (Z.odd _); simpl; auto; constructor; auto; unfold at_most; lra.
  - destruct (Z.odd _); auto; constructor; auto; lia.
  - assert (mass_P padded = mass_P cs /\ mass_Q padded = mass_Q cs /\
            forall t, H padded t = H cs t) as (e1 & e2 & e3).
    { unfold padded; destruct (Z.odd _); auto; unfold mass_P, mass_Q; simpl.
      repeat split; try ring; intros t; rewrite pos_of_negative; lra. }
    exists (n, n'), (a, a'), ds; repeat split; auto.
    + apply proper_cons; repeat split; auto; apply proper_cons; auto.
    + unfold mass_P in *; simpl in *; lra.
    + unfold mass_Q in *; simpl in *; lra.
    + intros t ht; eapply Rle_trans; [| apply bA; auto].
      rewrite (H_cons (n, n') (_ :: ds)), (H_cons (n, n') (_ :: cs)).
      rewrite (H_cons (a, a') ds), (H_cons (a, a') cs); specialize (d4 t); rewrite e3 in d4; lra.
Qed.

(* power *)

Definition one_test_step (unit : Z) (found_once : Tests * Tests) (s : Step) : Tests * Tests :=
  let (found, once) := found_once in
  let squared := times_tests unit found found in
  let (squared, once) :=
    match halving s with
    | None => (squared, once)
    | Some _ => (halved_tests squared, halved_tests once)
    end in
  let grown := if digit s then times_tests unit squared once else squared in
  (cut_tests (cut_first s) (cut_kept s) grown, once).

Definition power_tests (unit : Z) (M : Tests) (steps : list Step) : Tests :=
  fst (fold_left (one_test_step unit) steps (M, M)).

Lemma squares_keep unit A steps : (0 < unit)%Z -> proper A -> forall n found once,
  attains unit found (power A n) -> attains unit once A ->
  attains unit (fst (fold_left (one_test_step unit) steps (found, once)))
    (power A (fold_left counted steps n)).
Proof.
  intros hu hA; induction steps as [| s steps IH]; intros n found once hf ho; auto.
  assert (hp : forall m, proper (power A m)) by (intros; apply proper_power; auto).
  assert (square : attains unit (times_tests unit found found) (power A (n + n)))
    by (rewrite power_add; apply times_attains; auto).
  assert (later : forall squared once', attains unit squared (power A (n + n)) ->
    attains unit once' A ->
    attains unit (if digit s then times_tests unit squared once' else squared)
      (power A (counted n s))).
  { intros squared once' hs ho'; unfold counted; destruct (digit s).
    - rewrite power_add; apply times_attains; auto; cbn [power]; rewrite times_one_right; auto.
    - rewrite Nat.add_0_r; auto. }
  cbn [fold_left]; unfold one_test_step at 2.
  destruct (halving s) as [share |]; apply IH; auto using halved_attains; apply cut_attains;
    apply later; auto using halved_attains.
Qed.

Theorem squares_attain unit A M steps : (0 < unit)%Z -> proper A -> attains unit M A ->
  attains unit (power_tests unit M steps) (power A (fold_left counted steps 1%nat)).
Proof.
  intros hu hA hM; apply squares_keep; auto; cbn [power]; rewrite times_one_right; auto.
Qed.

(* delta: the test accepts from some place on. grown / one is at least t = e^epsilon. *)

Definition test_at (one grown : Z) (from : nat) (M : Tests) : Z :=
  (always_p M + sumZ (skipn from (under_p M))) * one -
  (always_q M + sumZ (skipn from (under_q M))) * grown.

Theorem best_attains unit one grown from M A t : (0 < unit)%Z -> (0 < one)%Z -> 0 <= t ->
  t * IZR one <= IZR grown -> attains unit M A ->
  IZR (test_at one grown from M) <= H A t * (IZR unit * IZR one).
Proof.
  intros hu h1 ht hg (n & a & cs & (pc & _ & _) & bA & (b1 & b2 & b3 & b4 & b5)).
  destruct n as [n n'], a as [a a'].
  apply proper_cons in pc; destruct pc as (hn & hn' & pc).
  apply proper_cons in pc; destruct pc as (ha & ha' & pc).
  specialize (bA t ht); simpl in bA, b4, b5.
  destruct (slices _ from _ _ b1) as [_ p1]; destruct (slices _ from _ _ b2) as [_ q1].
  pose proof (at_least_sum _ _ _ p1) as sp; pose proof (at_most_sum _ _ _ q1) as sq.
  rewrite skipn_map in sp, sq.
  assert (pS : proper (skipn from cs)) by (apply slice; auto).
  pose proof (nonneg_sum _ (proj2 (parts_of_proper _ pS))) as s0.
  pose proof (H_above_line (skipn from cs) t) as line; unfold mass_P, mass_Q in line.
  assert (fewer : H (skipn from cs) t <= H cs t).
  { rewrite <- (firstn_skipn from cs) at 2; rewrite H_app; pose proof (H_nonneg (firstn from cs) t); lra. }
  pose proof (pos_nonneg (n - t * n')) as p0; pose proof (pos_above (a - t * a')) as p2.
  set (x := a + sum (map fst (skipn from cs))) in *.
  set (y := a' + sum (map snd (skipn from cs))) in *.
  assert (hx : IZR (always_p M + sumZ (skipn from (under_p M))) <= x * IZR unit)
    by (unfold x, at_least in *; rewrite plus_IZR; lra).
  assert (hy : y * IZR unit <= IZR (always_q M + sumZ (skipn from (under_q M))))
    by (unfold y, at_most in *; rewrite plus_IZR; lra).
  assert (hH : x - t * y <= H A t) by (unfold x, y; nra).
  assert (y0 : 0 <= y) by (unfold y; lra).
  apply IZR_lt in hu; apply IZR_lt in h1.
  unfold test_at; rewrite minus_IZR, !mult_IZR.
  set (p := IZR (always_p M + _)) in *; set (q := IZR (always_q M + _)) in *.
  assert (g0 : 0 <= IZR grown) by nra.
  assert (e1 : p * IZR one <= x * IZR unit * IZR one) by (apply Rmult_le_compat_r; lra).
  assert (e2 : y * IZR unit * (t * IZR one) <= q * IZR grown).
  { apply Rmult_le_compat; auto; apply Rmult_le_pos; lra. }
  assert (e3 : (x - t * y) * (IZR unit * IZR one) <= H A t * (IZR unit * IZR one)).
  { apply Rmult_le_compat_r; [apply Rmult_le_pos; lra | auto]. }
  lra.
Qed.
