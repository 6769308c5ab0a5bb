/* main.c: the program `tensus`: options, scripts, exit statuses.
 *
 * The options are the rows of flags.def: those marked FIRST act while the
 * command line is read, the others in their order once there is a state.
 * Must not know: tensors; what a script does with them.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <lauxlib.h>

#include "host/interrupt.h"
#include "host/repl.h"
#include "host/chunk.h"
#include "host/state.h"

typedef struct Program {
  int argc;
  char **argv;
  int script; /* its place in argv; argc when there is none */
  int status; /* what the process will end with */
  bool environment, prompt, version, help, ran_code;
  bool warnings, in_warning; /* shown?  between two pieces of one? */
  const char *help_name;     /* of an op, or NULL */
  lua_State *L;
} Program;

typedef struct Flag Flag;

/* Acts; sets p->status to something else than EXIT_DONE to end the program. */
typedef void Handler(Program *p, const Flag *flag, const char *value);

typedef enum Takes { NOTHING, VALUE, MAYBE } Takes;
typedef enum When { FIRST, THEN } When;

struct Flag {
  char letter;      /* 0: only the long form */
  const char *name; /* "": only the short form */
  Takes takes;
  const char *argument;
  When when;
  Handler *handler;
  const char *target, *help;
};

/* The only mutable global of the program: a signal handler gets no argument.
 * It lives in the executable, never in the library. */
static Interrupt interrupt;
static struct timespec asked_at; /* of the first Ctrl-C that is unanswered */

enum { ANSWER_MS = 100 }; /* a script is stopped by then: DECISIONS.md, 19 */

/* ---- signals ---- */

static long milliseconds_since(struct timespec then) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (now.tv_sec - then.tv_sec) * 1000 +
         (now.tv_nsec - then.tv_nsec) / 1000000;
}

/* The first asks; one that comes when an answer is overdue ends the process
 * (a bouncing key does not). */
static void on_interrupt(int number) {
  (void)number;
  int saved = errno;
  if (interrupt_request(&interrupt))
    clock_gettime(CLOCK_MONOTONIC, &asked_at);
  else if (milliseconds_since(asked_at) > ANSWER_MS)
    _exit(EXIT_INTERRUPTED);
  errno = saved;
}

/* A closed output pipe ends quietly; any other pipe gives an error. */
static void on_pipe(int number) {
  (void)number;
  int saved = errno;
  struct pollfd output = {.fd = STDOUT_FILENO, .events = POLLOUT};
  if (poll(&output, 1, 0) > 0 && (output.revents & POLLERR) != 0)
    _exit(EXIT_DONE);
  errno = saved;
}

/* Without SA_RESTART: a script that waits for input is interrupted, too.  A
 * job in the background of a shell ignores Ctrl-C: it goes on doing so. */
static void catch_signals(void) {
  struct sigaction action = {.sa_handler = on_pipe, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  sigaction(SIGPIPE, &action, NULL);
  struct sigaction before;
  sigaction(SIGINT, NULL, &before);
  if (before.sa_handler == SIG_IGN) return;
  action.sa_handler = on_interrupt;
  action.sa_flags = 0;
  sigaction(SIGINT, &action, NULL);
}

/* ---- what options do ---- */

static void report(Program *p, int status) {
  p->status = chunk_report(p->L, status, &interrupt);
}

static void usage_error(Program *p, const char *text, const char *detail) {
  fprintf(stderr, "tensus: %s%s\n", text, detail);
  p->status = EXIT_USAGE;
}

static void run_code(Program *p, const Flag *flag, const char *code) {
  (void)flag;
  p->status = chunk_run_text(p->L, code, "=(command line)", &interrupt);
}

/* Pushes require(name); false and a report when that fails. */
static bool push_module(Program *p, const char *name) {
  lua_getglobal(p->L, "require");
  lua_pushstring(p->L, name);
  int status = chunk_call(p->L, 1, 1);
  if (status != LUA_OK) report(p, status);
  return status == LUA_OK;
}

static void require_module(Program *p, const Flag *flag, const char *value) {
  (void)flag;
  const char *equals = strchr(value, '=');
  lua_pushlstring(p->L, value,
                  equals ? (size_t)(equals - value) : strlen(value));
  if (push_module(p, equals ? equals + 1 : value)) {
    lua_pushglobaltable(p->L);
    lua_insert(p->L, -3);
    lua_rawset(p->L, -3);
  }
  lua_settop(p->L, 0);
}

static void want_prompt(Program *p, const Flag *flag, const char *value) {
  (void)flag, (void)value;
  p->prompt = true;
}

static void want_version(Program *p, const Flag *flag, const char *value) {
  (void)flag, (void)value;
  p->version = true;
}

static void want_help(Program *p, const Flag *flag, const char *value) {
  (void)flag;
  p->help = true;
  p->help_name = value;
}

/* TENSUS_* is taken out of the process's own environment: then no part has to
 * be told. */
static void ignore_environment(Program *p, const Flag *flag,
                               const char *value) {
  (void)flag, (void)value;
  extern char **environ;
  static const char prefix[] = "TENSUS_";
  p->environment = false;
  for (char **entry = environ; *entry != NULL;) {
    char name[128];
    size_t length = strcspn(*entry, "=");
    if (strncmp(*entry, prefix, sizeof prefix - 1) == 0 &&
        length < sizeof name) {
      memcpy(name, *entry, length);
      name[length] = '\0';
      unsetenv(name); /* the next entry moves here */
    } else {
      entry++;
    }
  }
}

/* Shows a warning's pieces on standard error.  "@on" and "@off", in one piece,
 * are for us. */
static void on_warning(void *arg, const char *text, int to_come) {
  Program *p = arg;
  if (!p->in_warning && !to_come && text[0] == '@') {
    if (strcmp(text, "@on") == 0) p->warnings = true;
    if (strcmp(text, "@off") == 0) p->warnings = false;
    return;
  }
  if (p->warnings)
    fprintf(stderr, "%s%s%s", p->in_warning ? "" : "Lua warning: ", text,
            to_come ? "" : "\n");
  p->in_warning = to_come != 0;
}

static void warnings_on(Program *p, const Flag *flag, const char *value) {
  (void)flag, (void)value;
  p->warnings = true;
}

/* Calls the module's function `target` with the value on top of L; what it
 * does not like is bad usage. */
static void set_default(Program *p, const Flag *flag, const char *value) {
  if (push_module(p, "tensus")) {
    lua_getfield(p->L, -1, flag->target);
    lua_pushvalue(p->L, 1);
    if (lua_pcall(p->L, 1, 0, 0) != LUA_OK) {
      const char *message = luaL_tolstring(p->L, -1, NULL);
      fprintf(stderr, "tensus: --%s=%s: %s\n", flag->name, value, message);
      p->status = EXIT_USAGE;
    }
  }
  lua_settop(p->L, 0);
}

static void set_text(Program *p, const Flag *flag, const char *value) {
  lua_pushstring(p->L, value);
  set_default(p, flag, value);
}

static void set_integer(Program *p, const Flag *flag, const char *value) {
  if (lua_stringtonumber(p->L, value) != 0 && lua_isinteger(p->L, -1)) {
    set_default(p, flag, value);
    return;
  }
  lua_settop(p->L, 0);
  fprintf(stderr, "tensus: --%s=%s: an integer is due\n", flag->name, value);
  p->status = EXIT_USAGE;
}

/* ---- the table of options ---- */

#define FLAG(letter, name, takes, argument, when, handler, target, help) \
  {letter, name, takes, argument, when, handler, target, help},
static const Flag flags[] = {
#include "host/flags.def"
};
#undef FLAG

enum { FLAGS = sizeof flags / sizeof *flags };

static const Flag *find_letter(char letter) {
  for (int i = 0; i < FLAGS; i++)
    if (flags[i].letter == letter) return &flags[i];
  return NULL;
}

static const Flag *find_name(const char *name, size_t length) {
  for (int i = 0; i < FLAGS; i++)
    if (length > 0 && strlen(flags[i].name) == length &&
        memcmp(flags[i].name, name, length) == 0)
      return &flags[i];
  return NULL;
}

enum { NAME_MAX_LENGTH = 31 }; /* of an option that is still looked up */

/* How many letters must change, come or go (Levenshtein 1966), row by row. */
static int distance(const char *a, size_t n, const char *b) {
  int row[NAME_MAX_LENGTH + 2];
  for (size_t i = 0; i <= n; i++) row[i] = (int)i;
  for (size_t j = 1; b[j - 1] != '\0'; j++) {
    int diagonal = row[0];
    row[0] = (int)j;
    for (size_t i = 1; i <= n; i++) {
      int change = diagonal + (a[i - 1] != b[j - 1]);
      int come = row[i] + 1, go = row[i - 1] + 1;
      diagonal = row[i];
      row[i] = change < come ? change : come;
      if (go < row[i]) row[i] = go;
    }
  }
  return row[n];
}

/* The long option that was probably meant, or NULL. */
static const char *nearest(const char *name, size_t length) {
  const char *best = NULL;
  int least = 4; /* further off than three letters is no misspelling */
  if (length > NAME_MAX_LENGTH) return NULL;
  for (int i = 0; i < FLAGS; i++) {
    int d = flags[i].name[0] ? distance(name, length, flags[i].name) : least;
    if (d < least && d < (int)length) {
      least = d;
      best = flags[i].name;
    }
  }
  return best;
}

static void unknown_option(Program *p, const char *text) {
  const char *near = NULL;
  if (text[1] == '-') near = nearest(text + 2, strcspn(text + 2, "="));
  fprintf(stderr, "tensus: unknown option %s", text);
  if (near != NULL) fprintf(stderr, "; did you mean --%s?", near);
  fprintf(stderr, "\ntry `tensus --help`\n");
  p->status = EXIT_USAGE;
}

/* ---- reading the command line ---- */

/* One option, at argv[*at]; *at moves to what comes after it.  NULL and a
 * usage error when it is none. */
static const Flag *read_long(Program *p, int *at, const char **value) {
  const char *text = p->argv[*at];
  size_t length = strcspn(text + 2, "=");
  const Flag *flag = find_name(text + 2, length);
  bool given = text[2 + length] == '=';
  *value = given ? text + 3 + length : NULL;
  ++*at;
  if (flag == NULL)
    unknown_option(p, text);
  else if (given && flag->takes == NOTHING)
    usage_error(p, "no value is due in ", text);
  else if (flag->takes == VALUE && (!given || **value == '\0'))
    usage_error(p, "a value is due, after `=`, in ", text);
  return p->status == EXIT_DONE ? flag : NULL;
}

static const Flag *read_short(Program *p, int *at, const char **value) {
  const char *text = p->argv[*at];
  const Flag *flag = find_letter(text[1]);
  ++*at;
  *value = text + 2;
  if (flag == NULL || (flag->takes == NOTHING && text[2] != '\0'))
    unknown_option(p, text);
  else if (flag->takes == VALUE && text[2] == '\0') {
    *value = p->argv[*at];
    if (*at == p->argc)
      usage_error(p, "something is due after ", text);
    else
      ++*at;
  }
  return p->status == EXIT_DONE ? flag : NULL;
}

/* Walks over the options and acts on those of `when`; finds the script. */
static void walk_options(Program *p, When when) {
  int at = 1;
  while (at < p->argc && p->status == EXIT_DONE) {
    const char *text = p->argv[at], *value;
    if (text[0] != '-' || text[1] == '\0') break; /* a script, or `-` */
    if (strcmp(text, "--") == 0) {
      at++;
      break;
    }
    const Flag *flag =
        text[1] == '-' ? read_long(p, &at, &value) : read_short(p, &at, &value);
    if (flag == NULL) return;
    if (flag->handler == run_code) p->ran_code = true;
    if (flag->when == when) flag->handler(p, flag, value);
  }
  p->script = at;
}

/* ---- texts ---- */

static void print_help(void) {
  printf("usage: tensus [options] [script [args]]\n"
         "Without a script: a prompt on a terminal, else a script from "
         "standard input.\n");
  for (int i = 0; i < FLAGS; i++) {
    const Flag *flag = &flags[i];
    char left[40];
    const char *open = flag->takes == MAYBE ? "[=" : "=";
    const char *close = flag->takes == MAYBE ? "]" : "";
    if (flag->name[0] == '\0')
      snprintf(left, sizeof left, "-%c %s", flag->letter, flag->argument);
    else
      snprintf(left, sizeof left, "%s--%s%s%s%s",
               flag->letter ? (char[]){'-', flag->letter, ',', ' ', 0} : "",
               flag->name, flag->argument[0] ? open : "", flag->argument,
               flag->argument[0] ? close : "");
    printf("  %-18s %s\n", left, flag->help);
  }
  printf("  %-18s %s\n  %-18s %s\n", "-", "a script from standard input", "--",
         "the options end here");
}

/* --help=name: what the module says of an op. */
static void help_of(Program *p) {
  if (!push_module(p, "tensus")) return;
  lua_getfield(p->L, -1, "help");
  lua_pushstring(p->L, p->help_name);
  int status = chunk_call(p->L, 1, 1);
  if (status == LUA_OK)
    puts(luaL_tolstring(p->L, -1, NULL));
  else
    report(p, status);
}

static void print_version(void) {
  printf("tensus %s\n%s (%s)\n", TENSUS_RELEASE, LUA_RELEASE, TENSUS_LUA_KIND);
}

/* ---- scripts ---- */

/* `arg`: the script at 0, its arguments from 1, what stood before it below. */
static void set_arguments(Program *p) {
  lua_State *L = p->L;
  int script = p->script < p->argc ? p->script : 0;
  lua_createtable(L, p->argc - script, script + 1);
  for (int i = 0; i < p->argc; i++) {
    lua_pushstring(L, p->argv[i]);
    lua_rawseti(L, -2, i - script);
  }
  lua_setglobal(L, "arg");
}

/* LUA_INIT, or its form with a version: code, or @ and a file. */
static void run_init(Program *p) {
  const char *name = "LUA_INIT_" LUA_VERSION_MAJOR "_" LUA_VERSION_MINOR;
  const char *text = getenv(name);
  if (text == NULL) text = getenv(name = "LUA_INIT");
  if (text == NULL || !p->environment) return;
  if (text[0] == '@') {
    int status = luaL_loadfilex(p->L, text + 1, "t");
    p->status = chunk_run(p->L, status, 0, &interrupt);
    return;
  }
  const char *chunk = lua_pushfstring(p->L, "=%s", name);
  p->status = chunk_run_text(p->L, text, chunk, &interrupt);
  lua_settop(p->L, 0);
}

/* The script at argv[p->script], `-` for standard input; or NULL, likewise. */
static void run_script(Program *p, const char *file) {
  int first = p->script + 1, n = 0;
  if (file != NULL && strcmp(file, "-") == 0 &&
      strcmp(p->argv[p->script - 1], "--") != 0)
    file = NULL;
  int status = luaL_loadfilex(p->L, file, "t");
  if (status == LUA_OK) {
    n = p->argc > first ? p->argc - first : 0;
    luaL_checkstack(p->L, n + 1, "too many arguments to the script");
    for (int i = 0; i < n; i++) lua_pushstring(p->L, p->argv[first + i]);
  }
  p->status = chunk_run(p->L, status, n, &interrupt);
}

static void run_prompt(Program *p) {
  printf("tensus %s  %s  (help() for help, Ctrl-D to leave)\n", TENSUS_RELEASE,
         LUA_RELEASE);
  int status = repl_run(p->L, &interrupt);
  if (p->status == EXIT_DONE) p->status = status;
}

static void run_all(Program *p) {
  set_arguments(p);
  run_init(p);
  if (p->status != EXIT_DONE) return;
  bool script = p->script < p->argc;
  bool terminal = isatty(STDIN_FILENO) != 0;
  bool prompt = p->prompt || (!script && !p->ran_code && terminal);
  if (prompt || p->ran_code) state_offer_ts(p->L);
  walk_options(p, THEN);
  if (p->status != EXIT_DONE) return;
  if (script)
    run_script(p, p->argv[p->script]);
  else if (!p->ran_code && !prompt)
    run_script(p, NULL);
  /* After a script that failed, too: to look around. */
  if (prompt && p->status != EXIT_USAGE) run_prompt(p);
}

/* All of the work, protected: what goes wrong outside a chunk (memory for
 * `arg`) is reported as well. */
static int protected_main(lua_State *L) {
  Program *p = lua_touserdata(L, 1);
  lua_settop(L, 0);
  if (p->help)
    help_of(p);
  else
    run_all(p);
  return 0;
}

static void run_state(Program *p) {
  p->L = state_open(&interrupt, p->environment);
  if (p->L == NULL) {
    fprintf(stderr, "tensus: out of memory\n");
    p->status = EXIT_ERROR;
    return;
  }
  lua_setwarnf(p->L, on_warning, p);
  lua_pushcfunction(p->L, protected_main);
  lua_pushlightuserdata(p->L, p);
  int status = lua_pcall(p->L, 1, 0, 0);
  if (status != LUA_OK) report(p, status);
  state_close(p->L, &interrupt);
}

/* What was printed must have arrived: a full disk is an error. */
static void check_output(Program *p) {
  bool arrived = fflush(stdout) == 0 && !ferror(stdout);
  if (arrived || p->status != EXIT_DONE) return;
  fprintf(stderr, "tensus: standard output could not be written\n");
  p->status = EXIT_ERROR;
}

int main(int argc, char **argv) {
  Program p = {.argc = argc, .argv = argv, .environment = true};
  walk_options(&p, FIRST);
  if (p.status != EXIT_DONE) return p.status;
  catch_signals();
  if (p.version)
    print_version();
  else if (p.help && p.help_name == NULL)
    print_help();
  else
    run_state(&p);
  check_output(&p);
  return p.status;
}
