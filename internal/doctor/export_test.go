package doctor

// Quote is quote.
var Quote = quote
