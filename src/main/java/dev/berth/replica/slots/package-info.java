/**
 * The slots of one replica: the ledger with its leases, the attempts it remembers, and the audit of
 * what it counts. Exact, of any thread, and without a lock where a slot is taken or given back.
 */
@NullMarked
package dev.berth.replica.slots;

import org.jspecify.annotations.NullMarked;
