(* What the theorems assume: of each file all of its theorems at once, which takes a second instead
   of one for each theorem. scripts/check-lemmas compares what this prints with axioms.txt, and
   checks that no theorem is left out. *)

From Lemmas Require Import measures chords compositions runs samples grids loop refuted certificate.

Definition measures_theorems :=
  (event_below, event_attains, H_convex, H_falls, H_at_0, H_above_line, H_exchanged,
   H_of_losses, masses_grow, losses_merge, pair_has_losses).
Print Assumptions measures_theorems.

Definition chords_theorems :=
  (masses_exact, masses_total, node_mass, first_mass, last_mass, only_mass,
   curves_are_convex, chords_above, masses_nonneg, from_above).
Print Assumptions chords_theorems.

Definition compositions_theorems :=
  (product_formula, times_exchange, times_below, joint_below, adaptive_below, times_assoc,
   power_add, product_permutation).
Print Assumptions compositions_theorems.

Definition runs_theorems :=
  (process_below, finite_release_curve).
Print Assumptions runs_theorems.

Definition samples_theorems :=
  (@curve_of_laws, @joint_convexity, @sampled_below, @reversed_below, @poisson_below,
   @finite_samples).
Print Assumptions samples_theorems.

Definition grids_theorems :=
  (grids_multiply, cut_low, cut_high, odd_place).
Print Assumptions grids_theorems.

Definition loop_theorems :=
  (times_covers, cut_covers, halved_covers, power_covers, counts_reached, delta_covers,
   from_above_covers).
Print Assumptions loop_theorems.

Definition refuted_theorems :=
  (merged_below, times_attains, cut_attains, halved_attains, squares_attain, best_attains).
Print Assumptions refuted_theorems.

Definition certificate_theorems :=
  (curve_pair, certificate, process_certificate, repeated_certificate, example).
Print Assumptions certificate_theorems.
