package capture

// Literals are the words by which a line tells of trouble.
var Literals = literals
