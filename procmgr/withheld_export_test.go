package procmgr

// Within is for the tests.
var Within = within
