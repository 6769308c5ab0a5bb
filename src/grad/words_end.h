/* words_end.h: takes the words of words.h back, those that others define. */
#undef NONE
#undef AUTO
#undef h
#undef MUL
