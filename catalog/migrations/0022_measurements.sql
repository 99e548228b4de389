-- A column is called as what it holds is called elsewhere: seconds of a processor are work.
ALTER TABLE gavial.measurements RENAME seconds TO work;
