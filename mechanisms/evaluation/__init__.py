"""How useful a release is: post-processing it, training on it, and testing on real records."""
