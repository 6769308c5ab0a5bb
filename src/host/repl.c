/* repl.c: the prompt.
 *
 * A line that is an expression prints its values, one a line, unless it ends
 * in `;`.  A construct that is still open asks for more with `>> `.
 * Must not know: options, terminals beyond reading a line.
 */
#include "host/repl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>

#include "border/lint.h"
#include "host/chunk.h"

enum { LINE_STEP = 512 }; /* bytes asked of the C library at a time */

typedef enum Input { INPUT_LINE, INPUT_END, INPUT_INTERRUPTED } Input;

/* Appends what is there of the line to the string on top of L; true when a
 * newline ended it. */
static bool read_piece(lua_State *L) {
  char piece[LINE_STEP];
  if (fgets(piece, sizeof piece, stdin) == NULL) return false;
  size_t length = strlen(piece);
  bool whole = length > 0 && piece[length - 1] == '\n';
  lua_pushlstring(L, piece, whole ? length - 1 : length);
  lua_concat(L, 2);
  return whole;
}

/* Pushes one line, without its newline, for INPUT_LINE only. */
static Input read_line(lua_State *L, const char *prompt, Interrupt *stop) {
  fputs(prompt, stdout);
  fflush(stdout);
  lua_pushliteral(L, "");
  while (!read_piece(L)) {
    if (!feof(stdin) && !ferror(stdin)) continue; /* a line longer than that */
    bool interrupted = ferror(stdin) && errno == EINTR;
    bool end = feof(stdin) || !interrupted;
    clearerr(stdin);
    if (end && lua_rawlen(L, -1) > 0) break; /* the last line has no newline */
    lua_pop(L, 1);
    if (interrupted) interrupt_clear(stop);
    return end ? INPUT_END : INPUT_INTERRUPTED;
  }
  if (!interrupt_clear(stop)) return INPUT_LINE;
  lua_pop(L, 1);
  return INPUT_INTERRUPTED;
}

/* Is the error on top, of loading, that the text ended too early? */
static bool is_open(lua_State *L, int status) {
  static const char mark[] = "<eof>";
  if (status != LUA_ERRSYNTAX) return false;
  size_t length;
  const char *message = lua_tolstring(L, -1, &length);
  size_t tail = sizeof mark - 1;
  return length >= tail && strcmp(message + length - tail, mark) == 0;
}

static int load_text(lua_State *L, const char *text, size_t length) {
  return luaL_loadbufferx(L, text, length, "=stdin", "t");
}

/* The text at index 1 as an expression: pushes the chunk, or nothing. */
static bool load_expression(lua_State *L) {
  const char *text = lua_tostring(L, 1);
  const char *code = lua_pushfstring(L, "return %s", text);
  int status = load_text(L, code, strlen(code));
  lua_remove(L, -2);
  if (status == LUA_OK) return true;
  lua_pop(L, 1);
  return false;
}

/* The text at index 1, with as many lines more as it needs: pushes the chunk
 * or an error (by *status). */
static Input load_lines(lua_State *L, Interrupt *stop, int *status) {
  for (;;) {
    size_t length;
    const char *text = lua_tolstring(L, 1, &length);
    *status = LUA_OK;
    if (load_expression(L)) return INPUT_LINE;
    *status = load_text(L, text, length);
    if (!is_open(L, *status)) return INPUT_LINE;
    Input input = read_line(L, ">> ", stop);
    /* At the end of input, the error is what the user should see. */
    if (input != INPUT_LINE) return input == INPUT_END ? INPUT_LINE : input;
    lua_pushfstring(L, "%s\n%s", text, lua_tostring(L, -1));
    lua_replace(L, 1);
    lua_settop(L, 1);
  }
}

/* Prints the values above the text at index 1; the last becomes `_`. */
static int print_values(lua_State *L) {
  int n = lua_gettop(L);
  for (int i = 1; i <= n; i++) {
    size_t length;
    const char *text = luaL_tolstring(L, i, &length);
    fwrite(text, 1, length, stdout);
    putchar('\n');
    lua_pop(L, 1);
  }
  if (n > 0) {
    lua_pushvalue(L, n);
    lua_setglobal(L, "_");
  }
  return 0;
}

static bool is_silent(lua_State *L) {
  size_t length;
  const char *text = lua_tolstring(L, 1, &length);
  while (length > 0 && strchr(" \t\r", text[length - 1]) != NULL) length--;
  return length > 0 && text[length - 1] == ';';
}

/* Runs the chunk on top of L, above the text; its values are printed. */
static void run_line(lua_State *L, Interrupt *stop) {
  bool silent = is_silent(L);
  int status = chunk_call(L, 0, LUA_MULTRET);
  int n = lua_gettop(L) - 1;
  if (status == LUA_OK && n > 0 && !silent) {
    luaL_checkstack(L, 2, NULL);
    lua_pushcfunction(L, print_values);
    lua_insert(L, 2);
    status = chunk_call(L, n, 0);
  }
  chunk_report(L, status, stop);
}

/* A local would be gone by the next line: say so, once. */
static void warn_of_local(lua_State *L, bool *warned) {
  if (*warned || strncmp(lua_tostring(L, 1), "local ", 6) != 0) return;
  *warned = true;
  fputs("note: a local lives for one line here; leave out `local` to keep it\n",
        stderr);
}

/* help(x): what ts.help says of it. */
static int show_help(lua_State *L) {
  lua_settop(L, 1);
  lua_getglobal(L, "require");
  lua_pushliteral(L, "tensus");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "help");
  lua_pushvalue(L, 1);
  lua_call(L, 1, 1);
  puts(luaL_tolstring(L, -1, NULL));
  return 0;
}

int repl_run(lua_State *L, Interrupt *stop) {
  bool warned = false;
  lua_register(L, "help", show_help);
  for (;;) {
    lua_settop(L, 0);
    int status = LUA_OK;
    Input input = read_line(L, "> ", stop);
    if (input == INPUT_LINE) input = load_lines(L, stop, &status);
    if (input == INPUT_END) break;
    if (input == INPUT_INTERRUPTED) {
      putchar('\n');
      continue;
    }
    warn_of_local(L, &warned);
    lint_prompt(L);
    if (status == LUA_OK)
      run_line(L, stop);
    else
      chunk_report(L, status, stop);
  }
  putchar('\n');
  fflush(stdout);
  return EXIT_DONE;
}
