"""Models that packages of others ship, through the converter and both runtimes; see __main__."""
