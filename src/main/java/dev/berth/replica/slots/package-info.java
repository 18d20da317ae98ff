/**
 * The slots of one replica: the ledger with its leases, the memory of attempts, and the audit of
 * the counters. Exact and thread-safe; acquiring and releasing a slot takes no lock.
 */
@NullMarked
package dev.berth.replica.slots;

import org.jspecify.annotations.NullMarked;
