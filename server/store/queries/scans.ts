import { toBatches } from './batches.ts'
import { countDeleted, QueryGroup } from './query-group.ts'

/** A hash is that of the content of an accepted file, or also of its path and type. */
export class ScanQueries extends QueryGroup {
  async acceptedAmong(scanner: string, hashes: readonly string[], since: number): Promise<Set<string>> {
    const accepted = new Set<string>()
    for (const batch of toBatches(hashes)) {
      const query = this.db.selectFrom('accepted_scans').select('hash').where('hash', 'in', batch)
      const rows = await query.where('scanner', '=', scanner).where('accepted_at', '>=', since).execute()
      for (const { hash } of rows) accepted.add(hash)
    }
    return accepted
  }

  /** Idempotent; a later time replaces an earlier one. */
  async accept(scanner: string, hashes: readonly string[], now: number): Promise<void> {
    for (const batch of toBatches(hashes))
      await this.db
        .insertInto('accepted_scans')
        .values(batch.map((hash) => ({ hash, scanner, accepted_at: now })))
        .onConflict((conflict) => conflict.columns(['hash', 'scanner']).doUpdateSet({ accepted_at: now }))
        .execute()
  }

  async deleteBefore(acceptedAt: number, limit: number): Promise<number> {
    const old = this.db
      .selectFrom('accepted_scans')
      .select(['hash', 'scanner'])
      .where('accepted_at', '<', acceptedAt)
      .limit(limit)
    return countDeleted(
      this.db
        .deleteFrom('accepted_scans')
        .where((e) => e(e.refTuple('hash', 'scanner'), 'in', old.$asTuple('hash', 'scanner'))),
    )
  }
}
