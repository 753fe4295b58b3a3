/* once.pml - one idempotency key, two nodes, one payment provider.  (Spin 6.5)      npm run model
 *
 * ONE key.  Requests (first, duplicates, retries; synchronous or accepted for a worker) arrive for ever on two
 * nodes; up to MAXATT attempts.  A node may crash at any step (and is restarted at once) or be paused as long as
 * you like: a process that is not scheduled is paused.  Two reconcilers, an operator, the sweeper, the reaper,
 * webhooks.  A record may expire and be deleted, and the key is then new (once: GENS).  Or the database is restored
 * from a backup that does not have the record (once: RESTORE): the provider still has what was charged for it.
 *
 * TIME is abstract.  `over`    = the current attempt's lease has run out: any time after the claim.
 *                    `settled` = settlesAt has passed: any time after `over`.
 *                    `past`    = creation plus retention has passed: any time.
 * BOUNDED=1 is the timing assumption under test: `settled` cannot come while a call is between "pre-call check
 * passed" and "executed at the provider and visible to look-ups, or lost for ever".
 * BOUNDED=0: it can (process frozen after the check, request queued in a proxy, lagging index).
 *
 * A property is chosen with -DP=n (0: P1 to P4 and P6 together, the safety of every row):
 *   1 at most one successful charge for a record     2 stored 201 <=> exactly one charge; stored 402, 408 => none
 *   3 one final answer for all clients               4 a fenced owner never changes the record
 *   5 (liveness) nothing stays in pending, in_progress or unknown
 *   6 only the moves of the state table, and no worker runs an accepted request past its creation plus retention
 *     unless an operator has it run again, once for each time that one does
 *   7 failed_retryable is honest, "proven: no side effect": no charge exists then, nor in a tombstone of it
 *   8 once we were TOLD of a charge (webhook, late owner, late look-up) nothing is done against it: no claim, no
 *     call, no release, no stored 402, no expiry
 *   9 the model is not empty: "violated" when the last attempt ends in a 201 (WITNESS)
 *  10 a request owns one attempt at most: who was fenced calls nobody, also when the record is gone
 *  11 a charge of other money is never settled but by a person, and never takes part in a 402 or 408
 *
 * The rules R_*: 1 is what the code does.  docs/model/README.md names for each the function that keeps it, and
 * scripts/model-rows.ts the rows in which it is switched off and a property fails.
 */
#ifndef P
#define P 0
#endif
/* --- the world ------------------------------------------------------------------------------------------------ */
#ifndef KEYED
#define KEYED 0      /* 1: the provider honours our stable key; 2: but runs again after a decline */
#endif
#ifndef BOUNDED
#define BOUNDED 1    /* see above */
#endif
#ifndef MAXATT
#define MAXATT 3     /* 2 or 3: attempts of all records of the key together */
#endif
#ifndef ASYNC
#define ASYNC 1      /* 1: the first request may be accepted for a worker */
#endif
#ifndef LOCAL
#define LOCAL 0      /* 1: the operation has a local phase before the one that calls; orders and refunds have none */
#endif
#ifndef EXPIRE
#define EXPIRE 1     /* 1: reaper and operator expire; 2: and the reaper deletes the tombstone, once */
#endif
#ifndef RECONS
#define RECONS 2     /* reconcilers running at once (two nodes, or a run and "reconcile now") */
#endif
#ifndef SYM
#define SYM 1        /* 0: no symmetry reduction (busyA, busyR) */
#endif
#ifndef WEBHOOK
#define WEBHOOK 1
#endif
#ifndef OPER
#define OPER 1       /* an operator who resolves by what the provider's dashboard shows */
#endif
#ifndef WRONGOP
#define WRONGOP 0    /* 1: ... or who says not_executed although there is a charge */
#endif
#ifndef BLIND
#define BLIND 0      /* 1: a look-up may miss declined payment objects */
#endif
#ifndef PEND
#define PEND 0       /* 1: a payment object may be undecided for any time ("processing") */
#endif
#ifndef UNREACH
#define UNREACH 0    /* 1: look-ups may fail until the world is calm (P5) */
#endif
#ifndef MONEY
#define MONEY 0      /* 1: the provider may charge other money than it was asked for, or name another order */
#endif
#ifndef SLICES
#define SLICES 0     /* 1: a look-up may end before it has read the provider's whole list */
#endif
#ifndef RESTORE
#define RESTORE 0    /* 1: the record is lost, in whatever state it is; what is under way at the provider goes on */
#endif
#ifndef KMAX
#define KMAX 0       /* RECONCILE_MAX_ATTEMPTS (0: never dead-lettered) */
#endif
/* --- the rules ------------------------------------------------------------------------------------------------ */
#ifndef R_CLAIM
#define R_CLAIM 1     /* an attempt begins only on a key that nobody owns */
#endif
#ifndef R_ATTEMPT
#define R_ATTEMPT 1   /* an owner's write is guarded by its attempt */
#endif
#ifndef R_RECORD
#define R_RECORD 1    /* ... and by the record, which is not the key: a deleted key's next record is another */
#endif
#ifndef R_POINT
#define R_POINT 1     /* the recovery point is committed before the call, not after */
#endif
#ifndef R_OVER
#define R_OVER 1      /* a lease that ran out in the phase that calls makes the outcome unknown */
#endif
#ifndef R_LEASE
#define R_LEASE 1     /* before the call: does my lease outlast its time limit, by my clocks? */
#endif
#ifndef R_LOOK
#define R_LOOK 1      /* an attempt looks the charge up before it calls, unless every earlier one ended with its own
                         owner's proof that nothing was executed */
#endif
#ifndef R_STILL
#define R_STILL 1     /* ... and asks the database: still mine, lease long enough, told of no charge? */
#endif
#ifndef R_UNSENT
#define R_UNSENT 1    /* what may have been sent is never called unsent */
#endif
#ifndef R_FENCED
#define R_FENCED 1    /* a fenced owner answers as a duplicate is answered, not with what it learned */
#endif
#ifndef R_ONCE
#define R_ONCE 1      /* ... and calls nobody any more */
#endif
#ifndef R_GUARD
#define R_GUARD 1     /* a reconciler's write is guarded by the attempt that it read before the look-up */
#endif
#ifndef R_EARLY
#define R_EARLY 1     /* "no such charge" is no proof before settlesAt */
#endif
#ifndef R_START
#define R_START 1     /* ... and settlesAt must have passed before the look-up was STARTED */
#endif
#ifndef R_WINDOW
#define R_WINDOW 1    /* every claim moves settlesAt on */
#endif
#ifndef R_COUNT
#define R_COUNT 1     /* a look-up before settlesAt, or an unfinished one, does not count towards dead-lettering */
#endif
#ifndef R_RESUME
#define R_RESUME 1    /* the next look-up goes on where an unfinished one stopped */
#endif
#ifndef R_SLICE
#define R_SLICE 1     /* ... only if that one was STARTED after settlesAt */
#endif
#ifndef R_BOUNDS
#define R_BOUNDS 1    /* ... and only in the window that it read: a further attempt in doubt has another */
#endif
#ifndef R_PENDING
#define R_PENDING 1   /* an undecided payment is neither found nor absent */
#endif
#ifndef R_DECLINED
#define R_DECLINED 1  /* a looked-up decline is proof only of a first attempt, or after settlesAt */
#endif
#ifndef R_REPORTED
#define R_REPORTED 1  /* so is the decline that evidence tells of, and a webhook's of a first attempt only */
#endif
#ifndef R_OPWAIT
#define R_OPWAIT 1    /* an operator's not_executed needs the settle window too */
#endif
#ifndef R_OPSAW
#define R_OPSAW 1     /* an operator's decision is guarded by the version that they saw */
#endif
#ifndef R_MONEY
#define R_MONEY 1     /* a charge of other money is no proof of ours: it settles nothing */
#endif
#ifndef R_OTHERKEPT
#define R_OTHERKEPT 1 /* evidence of other money is kept: a person decides, nothing else settles or releases */
#endif
#ifndef R_KEEP
#define R_KEEP 1      /* evidence of a charge is kept, and settles unknown and failed_retryable */
#endif
#ifndef R_TOLDCLAIM
#define R_TOLDCLAIM 1 /* no claim while evidence of a charge is stored */
#endif
#ifndef R_TOLDFREE
#define R_TOLDFREE 1  /* no release */
#endif
#ifndef R_TOLDDECL
#define R_TOLDDECL 1  /* no decline as the last word */
#endif
#ifndef R_TOLDREAP
#define R_TOLDREAP 1  /* no expiry of a failed_retryable */
#endif
#ifndef R_REAP
#define R_REAP 1      /* what may have executed never expires */
#endif
#ifndef R_ABANDON
#define R_ABANDON 1   /* the stored 408 is only for what nobody has taken up */
#endif
#ifndef R_RERUN
#define R_RERUN 1     /* a worker's claim asks: is creation plus retention still to come, or an operator's word given? */
#endif
#ifndef R_FENCE
#define R_FENCE 1     /* after a restore no record is made before it is listed what the provider did for lost ones, and
                         every attempt and every look-up asks that list first */
#endif
#ifndef R_LISTED
#define R_LISTED 1    /* ... and the list is read until no call of a lost record can be under way any more */
#endif
#ifndef R_AGAIN
#define R_AGAIN 1     /* ... and an operator's word is good for one attempt */
#endif

#define N (MAXATT+1)
/* states of the record: the names of lib/idempotency/states.ts; NONE: there is none */
#define NONE 0
#define PENDING 1
#define IN_PROGRESS 2
#define COMPLETED 3
#define FAILED_RETRYABLE 4
#define UNKNOWN 5
#define EXPIRED 6
/* outcomes: of a payment object, an answer, a look-up; SUCC, DECL and GONE also stand for 201, 402 and 408 */
#define SUCC 1
#define DECL 2
#define NOTSENT 3
#define TIMEOUT 4
#define NOTFOUND 5
#define UNDECIDED 6
#define GONE 7
#define OTHER 8         /* charged, but other money or another order's */
#define UNFINISHED 9    /* a look-up that has read a part of the list, without finding anything in it */
/* net[a]: where attempt a's call is */
#define IDLE_ 0
#define WIN 1           /* the check is passed, nothing is sent yet */
#define SENT 2          /* under way, its owner waits */
#define ORPH 3          /* under way, nobody waits any more */

/* the row in PostgreSQL */
byte st = NONE, attempt = 0, ans = 0;
byte base = 0;          /* attempts of the deleted record: this one's first is base+1 */
bit async = 0;
bit rp = 0;             /* recovery point: 1 in the phase that may call */
bit over = 0, settled = 0;      /* lockedUntil < now();  settlesAt < now() */
bit evSucc = 0;         /* effect_evidence */
bit evDecl = 0;         /* a decline is among the evidence ... */
bit evLast = 0;         /* ... of the last attempt, learned after settlesAt, and not from a webhook */
bit past = 0;           /* of an accepted request: its creation plus retention < now() */
bit again = 0;          /* its last event: an operator has it run again */
bit dead = 0;           /* dead_lettered_at of an accepted request */
byte nl = 0;            /* reconcile_attempts */
#if RESTORE
bit restored = 0, listed = 0;
byte lst = 0;           /* restored_effects: what the list has for the key, 0 for nothing */
#endif
bit doubt = 0;          /* doubt_until: an attempt ended without its owner's proof that nothing was executed */
#if SLICES
bit part = 0;           /* look_up_progress: a part of the list was read and nothing found in it; it is not read again */
#else
#define part 0
#endif
#if MONEY
bit other = 0;          /* money_differs */
bit byPerson = 0;       /* ghost: the answer is a person's decision */
#else
#define other 0
#endif
/* the other side of the network */
byte net[N], obj[N], rep[N];    /* call, payment object, answer under way - of each attempt */
bit late[N];                    /* its check was passed after the lease's end (only without R_LEASE) */
/* ghosts */
bit saw201 = 0, saw402 = 0, calm = 0, told = 0;
bit word = 0;                   /* an operator's word was given and no attempt has begun since */
bit busyA = 0, busyR = 0;       /* symmetry: node B claims only while A is busy, reconciler 2 starts
                                   only while 1 is busy (any run can be renamed to such a run) */

#define FIRST   (attempt==base+1)
#define HELD(a) (net[a]!=IDLE_ && !late[a])     /* BOUNDED speaks of calls checked in time only */
#if MONEY
#define CHARGE(a) (obj[a]==SUCC || obj[a]==OTHER)
#else
#define CHARGE(a) (obj[a]==SUCC)
#endif
#if MAXATT == 2
#define ANY(v)  ((base<1 && obj[1]==v) || (base<2 && obj[2]==v))
#define NSUCC   ((base<1 && CHARGE(1)) + (base<2 && CHARGE(2)))
#define NOLD    ((base>=1 && CHARGE(1)) + (base>=2 && CHARGE(2)))
#define QUIET   (!HELD(1) && !HELD(2))
#else
#define ANY(v)  ((base<1 && obj[1]==v) || (base<2 && obj[2]==v) || (base<3 && obj[3]==v))
#define NSUCC   ((base<1 && CHARGE(1)) + (base<2 && CHARGE(2)) + (base<3 && CHARGE(3)))
#define NOLD    ((base>=1 && CHARGE(1)) + (base>=2 && CHARGE(2)) + (base>=3 && CHARGE(3)))
#define QUIET   (!HELD(1) && !HELD(2) && !HELD(3))
#endif
#if RESTORE
#if MAXATT == 2
#define LOST(v) (base>=1 && obj[1]==v)
#else
#define LOST(v) ((base>=1 && obj[1]==v) || (base>=2 && obj[2]==v))
#endif
#define OFLOST  (LOST(SUCC) -> SUCC : (LOST(OTHER) -> OTHER : (LOST(UNDECIDED) -> UNDECIDED : (LOST(DECL) -> DECL : 0))))
#define INLIST  (R_FENCE && lst!=0)
#define LISTSAYS (lst==UNDECIDED -> OFLOST : lst)     /* an undecided one is asked about by its reference */
#define MAYMAKE (!restored || listed || !R_FENCE)
#define CHARGES (NSUCC + NOLD)                        /* of the key: a restore makes no key new */
#else
#define INLIST  0
#define LISTSAYS 0
#define MAYMAKE 1
#define CHARGES NSUCC
#endif
/* the provider's key is made from the record's id: an older record's objects have another */
#define SAMEKEY ((KEYED==1 && (ANY(SUCC) || ANY(OTHER) || ANY(DECL) || ANY(UNDECIDED))) || \
                 (KEYED==2 && (ANY(SUCC) || ANY(OTHER) || ANY(UNDECIDED))))
#if R_RECORD
#define OWNER(a) (st==IN_PROGRESS && (!R_ATTEMPT || attempt==a))
#else
#define OWNER(a) (st==IN_PROGRESS && attempt-base==a-mine)
#endif
#define OPEN    (st==IN_PROGRESS || st==UNKNOWN || st==FAILED_RETRYABLE)
#define INV1    (CHARGES <= 1 && NOLD <= 1)
#define ANSWERED (st==COMPLETED || (st==EXPIRED && ans!=0))
#define INV2    (!ANSWERED || (ans==SUCC && CHARGES==1) || (ans!=SUCC && CHARGES==0))
#define INV7    (!(st==FAILED_RETRYABLE || (st==EXPIRED && ans==0)) || CHARGES==0)
#if MONEY
#define INV11   (!ANSWERED || byPerson || !ANY(OTHER))
#else
#define INV11   1
#endif
#define WITNESS (st==COMPLETED && ans==SUCC && attempt==MAXATT)  /* "violated" = still useful */
#define CHECKALL assert((P!=0 && P!=1) || INV1); assert((P!=0 && P!=2) || INV2); \
                 assert(P!=7 || INV7); assert(P!=9 || !WITNESS); assert((P!=0 && P!=11) || INV11)
#define AGAINST assert(P!=8 || !told)           /* a step that no charge could bear */

/* a record in doubt is looked up before it is called again */
#define LOOKS   (my>base+1 && doubt)
#define LEGAL(f,t) ( (f==NONE && (t==PENDING || t==IN_PROGRESS)) \
                  || (f==PENDING && (t==IN_PROGRESS || t==COMPLETED)) \
                  || (f==IN_PROGRESS && (t==COMPLETED || t==FAILED_RETRYABLE || t==UNKNOWN)) \
                  || (f==COMPLETED && (t==EXPIRED)) \
                  || (f==FAILED_RETRYABLE && (t==IN_PROGRESS || t==COMPLETED || t==UNKNOWN || t==EXPIRED)) \
                  || (f==UNKNOWN && (t==COMPLETED || t==FAILED_RETRYABLE)) \
                  || (f==EXPIRED && (t==NONE)) )

inline move(to) {       /* every change of state goes through the trigger */
  assert((P!=0 && P!=6) || LEGAL(st,to));
  st = to; CHECKALL
}
#define TIMELESS past = 0; again = 0; word = 0; dead = 0   /* final: no attempt comes any more */
inline complete(code) { /* ledger row, order, answer: one statement */
  if :: code!=SUCC -> AGAINST :: else fi;
  ans = code; evSucc = 0; evDecl = 0; evLast = 0; told = 0; TIMELESS; noOther(); move(COMPLETED)
}
inline free_() { AGAINST; noOther(); move(FAILED_RETRYABLE) }   /* release */
#if MONEY
inline noOther() { other = 0 }
inline tellOther() {    /* evidence of other money: a person decides; also what was taken for not executed */
  told = (P==8); other = R_OTHERKEPT;
  if :: st==FAILED_RETRYABLE && R_OTHERKEPT -> inDoubt(); again = 0; word = 0; move(UNKNOWN) :: else fi
}
inline decided(person) { byPerson = byPerson || person }
inline forgetPerson() { byPerson = 0 }
inline sawOther() { ro = other }
inline forgetOther() { ro = 0 }
#else
inline noOther() { skip }
inline tellOther() { skip }
inline decided(person) { skip }
inline forgetPerson() { skip }
inline sawOther() { skip }
inline forgetOther() { skip }
#endif
#if SLICES
inline inDoubt() { doubt = 1; if :: R_BOUNDS -> part = 0 :: else fi }   /* doubt_until = settles_at: another window */
inline notAgain() { part = R_RESUME }
inline forgetPart() { part = 0 }
#else
inline inDoubt() { doubt = 1 }
inline notAgain() { skip }
inline forgetPart() { skip }
#endif
inline see(code) {      /* a client is given a FINAL answer */
#if P == 0 || P == 3
  if :: code==SUCC -> saw201 = 1 :: code==DECL || code==GONE -> saw402 = 1 :: else fi;
  assert(!(saw201 && saw402))
#else
  skip
#endif
}
inline tellSucc() { told = (P==8); evSucc = R_KEEP }
inline leaseover() {    /* sweeper, or the next request: by recovery point */
  inDoubt();
  if :: (rp==0 || !R_OVER) && !other -> move(FAILED_RETRYABLE) :: else -> move(UNKNOWN) fi
}
inline lookup(v) {      /* the provider's own view at this instant; a success outranks what may be one, and a decline */
  if :: INLIST -> v = LISTSAYS
     :: !INLIST && ANY(SUCC) -> v = SUCC
     :: !INLIST && !ANY(SUCC) && ANY(OTHER) -> v = (R_MONEY -> OTHER : SUCC)
     :: !INLIST && !ANY(SUCC) && !ANY(OTHER) && ANY(UNDECIDED) -> v = (R_PENDING -> UNDECIDED : NOTFOUND)
     :: !INLIST && !ANY(SUCC) && !ANY(OTHER) && !ANY(UNDECIDED) && ANY(DECL) -> v = DECL
     :: BLIND && !INLIST && !ANY(SUCC) && !ANY(OTHER) && !ANY(UNDECIDED) && ANY(DECL) -> v = NOTFOUND
     :: else -> v = NOTFOUND fi
}
inline lookupInSlices(v) {
  if :: lookup(v)
     :: SLICES && part -> v = NOTFOUND                  /* what is there now would be in the part that was read before */
     :: SLICES && !part -> lookup(v); if :: v==NOTFOUND -> v = UNFINISHED :: else fi
  fi
}

/* ---- a node: serves requests and accepted jobs one after the other ------------------------------------------- */
#define CRASH :: atomic { !calm -> printf("node %c CRASHES (restarted, memory gone)\n", 65+n); rep[my] = 0; \
    if :: net[my]==WIN -> net[my] = IDLE_ :: net[my]==SENT -> net[my] = ORPH :: else fi; free(); goto idle }
#define UNSENT(r) (r==NOTSENT || r==UNFINISHED)
inline free() { my = 0; res = 0; if :: n==0 -> busyA = 0 :: else fi }
/* a synchronous record is claimed again by a client, an accepted one by the worker, within its time or on an operator's
   word */
/* what comes before the call: the list of a restore, a look-up, the clocks */
#define ASK if :: INLIST -> res = LISTSAYS; if :: res==UNDECIDED -> res = TIMEOUT :: else fi; \
                  printf("node %c: the list has %d for attempt %d\n", 65+n, res, my); goto tx2 \
               :: !INLIST && R_LOOK && LOOKS -> goto look :: else -> goto check fi
#define INTIME (!async || !R_RERUN || (!dead && (!past || again)))
#define CLAIMABLE ((st==PENDING || (st==FAILED_RETRYABLE && INTIME)) && !(R_TOLDCLAIM && evSucc))

proctype Node(byte n) {
  byte my = 0, res = 0;
#if !R_RECORD
  byte mine = 0;        /* base when it claimed */
#endif
#if P == 10
  bit was = 0;          /* this request owned an attempt and was fenced */
#define AGAIN (was && R_ONCE)
#define FRESH was = 0
#else
#define AGAIN 0
#define FRESH skip
#endif
idle:
  atomic {              /* a request: ONE transaction decides (row lock) */
    if
    :: st==COMPLETED -> printf("node %c: request -> replay %d\n", 65+n, ans); see(ans); FRESH; goto idle
    :: st==UNKNOWN || st==EXPIRED -> FRESH; goto idle                     /* 409 outcome unknown, 410 */
    :: st==IN_PROGRESS && !over && R_CLAIM -> FRESH; goto idle            /* 409 in progress, or 202 */
    :: st==IN_PROGRESS && over -> printf("node %c: request finds the lease over, recovery point %d\n", 65+n, rp);
         leaseover(); FRESH; goto idle
    :: AGAIN -> FRESH; goto idle                                          /* 503, 410: called nobody */
    :: ASYNC && st==NONE && MAYMAKE && !AGAIN && attempt<MAXATT -> async = 1; move(PENDING); FRESH;
         printf("node %c: accepted for a worker\n", 65+n); goto idle
    :: st==NONE && !MAYMAKE -> FRESH; goto idle                           /* 503 restore_in_progress */
    :: (n==0 || busyA || !SYM) && attempt<MAXATT && !AGAIN &&
       ((st==NONE && MAYMAKE) || CLAIMABLE || (!R_CLAIM && st==IN_PROGRESS)) ->
         if :: n==0 -> busyA = 1 :: else fi;
#if P == 10
         assert(!was);
#endif
         AGAINST; attempt++; my = attempt; over = 0; if :: R_WINDOW -> settled = 0 :: else fi; nl = 0; evLast = 0;
         assert((P!=0 && P!=6) || !async || st!=FAILED_RETRYABLE || !past || word);
         word = 0; if :: R_AGAIN -> again = 0 :: else fi;
#if !R_RECORD
         mine = base;
#endif
         if :: st==IN_PROGRESS -> CHECKALL :: else -> move(IN_PROGRESS) fi;
         if :: rp = R_POINT; printf("node %c: in_progress, the phase that calls, attempt %d\n", 65+n, my);
               ASK
            :: LOCAL -> rp = 0; printf("node %c: in_progress, a local phase, attempt %d\n", 65+n, my)
         fi
    fi };
  if                    /* advance: the local phase is done, its effects and the recovery point commit together */
  :: atomic { OWNER(my) && !over -> rp = R_POINT; ASK }
  :: atomic { !OWNER(my) || over -> free(); goto idle }
  CRASH
  fi;
look:                   /* ask before charging again */
  if
  :: atomic { lookupInSlices(res); printf("node %c: look-up before attempt %d calls: %d\n", 65+n, my, res);
              if :: res==NOTFOUND -> res = 0 :: res==UNFINISHED -> goto tx2 :: res==UNDECIDED -> res = TIMEOUT; goto tx2 :: else -> goto tx2 fi }
  :: atomic { UNREACH && !calm -> res = NOTSENT; printf("node %c: look-up fails\n", 65+n); goto tx2 }
  CRASH
  fi;
check:                  /* the store (a repeated call only), then the clocks.  The clocks are read a moment later,
                           which refuses more and not less: one step is the more permissive model */
  if
  :: atomic { ((my==attempt && !over) || !R_LEASE) && (!R_STILL || !LOOKS || (OWNER(my) && !over && !evSucc && !other)) ->
              AGAINST; net[my] = WIN; late[my] = over || my!=attempt;
              printf("node %c: attempt %d passes the pre-call check\n", 65+n, my) }
  :: atomic { res = NOTSENT; goto tx2 }                 /* gives up: too little lease left */
  CRASH
  fi;
  if                    /* a pause HERE is what the check cannot see */
  :: atomic { net[my] = SENT; printf("node %c: attempt %d's call leaves\n", 65+n, my) }
  :: atomic { net[my] = IDLE_; res = NOTSENT; printf("node %c: connection refused\n", 65+n); goto tx2 }
  CRASH
  fi;
  if
  :: atomic { rep[my]!=0 -> res = rep[my]; rep[my] = 0; printf("node %c: attempt %d is answered: %d\n", 65+n, my, res) }
  :: atomic { rep[my]==0 -> res = TIMEOUT; if :: !R_UNSENT -> res = NOTSENT :: 1 fi;
              if :: net[my]==SENT -> net[my] = ORPH :: else fi; printf("node %c: attempt %d times out\n", 65+n, my) }
  CRASH
  fi;
tx2:                    /* WHERE id = record AND state = 'in_progress' AND attempt = mine */
  if
  :: atomic { OWNER(my) -> assert((P!=0 && P!=4) || my==attempt);
       printf("node %c: attempt %d commits its result %d\n", 65+n, my, res);
       if :: res==SUCC || (res==OTHER && !R_MONEY) -> complete(SUCC)
          :: res==DECL && !(R_TOLDDECL && evSucc) && !other -> complete(DECL)
          :: UNSENT(res) && !(R_TOLDFREE && evSucc) && !other ->
               /* an unfinished look-up: settlesAt of the attempts in doubt is past, or the record were still unknown */
               if :: res==UNFINISHED -> notAgain() :: else -> forgetPart() fi;
               dead = async && past; free_()
          :: (res==DECL && R_TOLDDECL || UNSENT(res) && R_TOLDFREE) && evSucc && !other ->
               complete(SUCC)                           /* what it was told */
          :: (res==DECL || UNSENT(res)) && other -> inDoubt(); move(UNKNOWN)
          :: res==OTHER && R_MONEY -> tellOther(); inDoubt(); move(UNKNOWN)     /* 504 */
          :: res==TIMEOUT -> inDoubt(); move(UNKNOWN)   /* 504; what was told meanwhile settles it next */
       fi;
       if :: st==COMPLETED -> see(ans) :: else fi;
       if :: free(); goto idle
          :: !calm -> printf("node %c: the acknowledgement is lost, it tries again\n", 65+n); goto tx2
       fi }
  :: atomic { !OWNER(my) ->                             /* fenced: nothing but evidence, and only of this record */
       printf("node %c: attempt %d is FENCED, result %d kept as evidence\n", 65+n, my, res);
       if :: res==SUCC && my>base && OPEN -> tellSucc()
          :: res==OTHER && my>base && OPEN -> tellOther()
          :: res==DECL && my>base && OPEN -> evDecl = 1; evLast = evLast || (settled && my==attempt)
          :: else fi;
#if P == 10
       was = 1;
#endif
       if :: R_FENCED && st==COMPLETED && my>base -> see(ans)
          :: !R_FENCED && my>base && (res==SUCC || res==DECL) -> see(res)
          :: else fi; free(); goto idle }
  CRASH
  fi
}

/* ---- network and provider: a call is lost, or executed at ANY later time ------------------------------------- */
active proctype Provider() {
  byte a = 0, r = 0;
  do
  :: atomic {
       if :: net[1]>=SENT -> a = 1 :: net[2]>=SENT -> a = 2
#if MAXATT > 2
          :: net[3]>=SENT -> a = 3
#endif
       fi;
       if :: printf("network: attempt %d's call is lost\n", a)
          :: if :: a>base && SAMEKEY -> r = (ANY(SUCC) -> SUCC :
                                            (ANY(OTHER) -> OTHER : (ANY(UNDECIDED) -> UNDECIDED : DECL)));
                   printf("provider: attempt %d arrives, key known: same result %d\n", a, r)
                :: !(a>base && SAMEKEY) -> r = SUCC; obj[a] = r; printf("provider: attempt %d arrives: CHARGED\n", a)
                :: !(a>base && SAMEKEY) -> r = DECL; obj[a] = r; printf("provider: attempt %d arrives: declined\n", a)
                :: MONEY && !(a>base && SAMEKEY) -> r = OTHER; obj[a] = r;
                   printf("provider: attempt %d arrives: OTHER MONEY is charged\n", a)
                :: PEND && !(a>base && SAMEKEY) -> r = UNDECIDED; obj[a] = r;
                   printf("provider: attempt %d arrives: processing\n", a)
             fi;
             if :: net[a]==SENT -> rep[a] = (r==UNDECIDED -> TIMEOUT : r)      /* undecided: unclear */
                :: printf("network: the answer is lost\n") fi
       fi;
       net[a] = IDLE_; a = 0; r = 0; CHECKALL }
#if PEND
  :: atomic { if :: obj[1]==UNDECIDED -> a = 1 :: obj[2]==UNDECIDED -> a = 2
#if MAXATT > 2
                 :: obj[3]==UNDECIDED -> a = 3
#endif
              fi;
              if :: obj[a] = SUCC :: obj[a] = DECL fi; printf("provider: attempt %d decided: %d\n", a, obj[a]);
              a = 0; CHECKALL }
#endif
  od
}

/* ---- the database's clock, the sweeper, the reaper, and whoever settles by evidence -------------------------- */
active proctype Clock() {
  do
  :: atomic { !over && st==IN_PROGRESS -> over = 1; printf("time: the lease of attempt %d is over\n", attempt) }
  :: atomic { !settled && st==UNKNOWN && (!BOUNDED || QUIET) -> settled = 1; printf("time: settlesAt is past\n") }
  :: atomic { st==IN_PROGRESS && over -> printf("sweeper: lease over, recovery point %d\n", rp); leaseover() }
  :: atomic { (st==UNKNOWN || st==FAILED_RETRYABLE) && evSucc && !other ->
              printf("evidence -> completed 201\n"); complete(SUCC) }
  :: atomic { st==UNKNOWN && evDecl && !(R_TOLDDECL && evSucc) && !other && (!R_REPORTED || FIRST || evLast) ->
              printf("evidence -> completed 402\n"); complete(DECL) }
  :: atomic { async && !past && OPEN -> past = 1; printf("time: creation plus retention is past\n") }
  :: atomic { async && past && st==FAILED_RETRYABLE && !dead && !again -> dead = 1; printf("worker: dead-lettered\n") }
  :: atomic { OPER && async && st==FAILED_RETRYABLE && !evSucc && !again ->
              dead = 0; again = 1; word = 1; printf("operator: run again\n") }
  :: atomic { async && (st==PENDING || (!R_ABANDON && st==IN_PROGRESS)) && !INLIST ->
              printf("sweeper: past its retention -> completed 408\n"); complete(GONE) }
#if EXPIRE
  :: atomic { st==COMPLETED || (st==FAILED_RETRYABLE && !(R_TOLDREAP && evSucc)) || (!R_REAP && st==UNKNOWN) ->
              printf("reaper or operator: expired\n"); AGAINST; evSucc = 0; evDecl = 0; evLast = 0; told = 0; TIMELESS;
              move(EXPIRED) }
#endif
#if RESTORE
  :: atomic { !restored && st!=NONE && attempt<MAXATT -> printf("the database is restored, the record is lost\n");
              if :: ans==GONE -> saw402 = 0 :: else fi;         /* the provider never heard of it: it can be told anew */
              restored = 1; base = attempt; ans = 0; async = 0; rp = 0; over = 1; settled = 0; nl = 0; doubt = 0;
              evSucc = 0; evDecl = 0; evLast = 0; told = 0; TIMELESS; noOther(); forgetPerson(); st = NONE; CHECKALL }
  :: atomic { restored && !listed && (!R_LISTED || !BOUNDED || QUIET) -> listed = 1; lst = OFLOST;
              printf("restore run: listed %d\n", lst) }
#endif
#if EXPIRE == 2
  :: atomic { st==EXPIRED && base==0 && attempt<MAXATT -> printf("reaper: tombstone deleted, the key is new\n");
              base = attempt; ans = 0; async = 0; rp = 0; over = 1; settled = 0; nl = 0; saw201 = 0; saw402 = 0;
              doubt = 0; forgetPart(); forgetPerson(); move(NONE) }
#endif
  od
}

/* ---- webhooks: every payment object may be reported at any time, any number of times ------------------------- */
#if WEBHOOK
active proctype Webhook() {     /* kept as evidence; of a record that is final or gone nothing but a discrepancy */
  do
  :: atomic { ANY(SUCC) && OPEN && (R_KEEP -> !evSucc : P==8 && !told) ->
              printf("webhook: succeeded, record is in state %d\n", st); tellSucc() }
#if MONEY
  :: atomic { ANY(OTHER) && OPEN && !other && R_MONEY -> printf("webhook: other money, record is in state %d\n", st);
              tellOther() }
  :: atomic { ANY(OTHER) && OPEN && !evSucc && !R_MONEY -> tellSucc() }
#endif
  :: atomic { ANY(DECL) && OPEN && !evDecl -> printf("webhook: declined, record is in state %d\n", st); evDecl = 1 }
  od
}
#endif

/* ---- reconciler (op=0) and operator (op=1): read + look at one moment, write at another ---------------------- */
/* (A gap between read and look-up adds nothing: without a change of the record the later read is the more
 *  permissive one, and after a change the guarded write is refused anyway.) */
#define PROOF(s) (op -> (s || !R_OPWAIT) : (!R_EARLY || (R_START -> s : settled)))
proctype Recon(bit op; byte id) {
  byte ra = 0, v = 0; bit rs = 0;
#if MONEY
  bit ro = 0;           /* the operator saw evidence of other money */
#else
#define ro 0
#endif
  do
  :: atomic { st==UNKNOWN && (op || ((KMAX==0 || nl<KMAX) && !other)) && (id!=2 || busyR || !SYM) ->
              ra = attempt; rs = settled; sawOther(); if :: id==1 -> busyR = 1 :: else fi;
              if :: lookupInSlices(v) :: WRONGOP && op -> v = NOTFOUND :: UNREACH && !calm -> v = TIMEOUT fi;
              printf("resolver %d looks at the provider (attempt %d, settled %d): sees %d\n", id, ra, rs, v) };
     atomic {
       if
       :: st==UNKNOWN && (attempt==ra || !(op -> R_OPSAW : R_GUARD)) && (!op || !R_OPSAW || other==ro) ->
            if :: (v==SUCC || (v==OTHER && op)) && (op || !other) ->
                    printf("resolver %d writes completed 201\n", id); decided(op); complete(SUCC)
               :: v==OTHER && !op -> printf("resolver %d keeps evidence of other money\n", id); tellOther()
               :: v==DECL && !(R_TOLDDECL && evSucc) && (op || !other) && (!R_DECLINED || ra==base+1 || rs) ->
                    printf("resolver %d writes completed 402\n", id); complete(DECL)
               :: v==NOTFOUND && !(R_TOLDFREE && evSucc) && (op || !other) && PROOF(rs) ->
                    printf("resolver %d writes failed_retryable\n", id);
                    forgetPart(); dead = async && past; free_()
               :: v==UNFINISHED && (rs || !R_SLICE) && R_COUNT -> notAgain()
               :: else -> if :: KMAX>0 && !op && nl<KMAX && !(R_COUNT && v!=TIMEOUT && v!=UNDECIDED) -> nl++ :: else fi
            fi
       :: else ->                                       /* late: what a look-up found is kept, a person is told */
            if :: v==SUCC && !op && ra>base && OPEN && !evSucc -> tellSucc()
               :: v==OTHER && !op && ra>base && OPEN && !other -> tellOther()
               :: v==DECL && !op && ra>base && OPEN -> evDecl = 1
               :: else fi
       fi; ra = 0; v = 0; rs = 0; forgetOther(); if :: id==1 -> busyR = 0 :: else fi }
  od
}

init { atomic {
  run Node(0); run Node(1); run Recon(0,1);
#if RECONS > 1
  run Recon(0,2);
#endif
#if OPER
  run Recon(1,9);
#endif
  }
#if P == 5
  calm = 1              /* crashes and outages stop at some moment; pauses: weak fairness (-f) */
#endif
}
#if P == 5
ltl p5 { <>[] !(st==PENDING || st==IN_PROGRESS || st==UNKNOWN) }
#endif
