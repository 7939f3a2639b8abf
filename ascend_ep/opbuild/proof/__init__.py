"""What must hold before an operator is installed: static checks, numbers against float64, execution apart."""
