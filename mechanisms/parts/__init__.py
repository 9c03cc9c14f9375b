"""What mechanisms are made of: noise, samples, records, means of subsets."""
