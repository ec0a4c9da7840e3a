import type { Kysely } from 'kysely'
import type { CertificateRow, Schema } from '../schema.ts'

export type CertificateQueries = ReturnType<typeof certificateQueries>

const SUMMARY = [
  'name',
  'not_before',
  'not_after',
  'issued_at',
  'certificate_id',
  'informed',
  'renew_at',
  'information_at',
  'order_url',
  'failures',
  'problem',
  'due_at',
  'unused_since',
] as const

/** A certificate without its chain and keys. */
export type CertificateSummary = Pick<CertificateRow, (typeof SUMMARY)[number]>

export function certificateQueries(db: Kysely<Schema>) {
  const all = () => db.selectFrom('certificates').selectAll()
  const summaries = () => db.selectFrom('certificates').select(SUMMARY)
  return {
    find: (name: string) => all().where('name', '=', name).executeTakeFirst(),

    summary: (name: string): Promise<CertificateSummary | undefined> =>
      summaries().where('name', '=', name).executeTakeFirst(),

    /** Those of the names that exist. */
    summaries: (names: readonly string[]): Promise<CertificateSummary[]> =>
      names.length === 0
        ? Promise.resolve([])
        : summaries()
            .where('name', 'in', [...names])
            .execute(),

    /** All requested certificates by their expiry. */
    wanted: (): Promise<CertificateSummary[]> =>
      summaries().where('unused_since', 'is', null).orderBy('not_after').orderBy('name').execute(),

    /**
     * Certificates that are due at `now`: those without a chain first, then by expiry. With `ordered: false`
     * only those with a request for renewal information as their next step.
     */
    due(now: number, limit: number, { ordered }: { ordered: boolean }): Promise<CertificateSummary[]> {
      return summaries()
        .where('due_at', '<=', now)
        .$if(!ordered, (query) => query.where('renew_at', '>', now).where('order_url', 'is', null))
        .orderBy((e) => e('not_after', 'is not', null))
        .orderBy('not_after')
        .orderBy('due_at')
        .limit(limit)
        .execute()
    },

    async insert(row: CertificateRow): Promise<void> {
      await db.insertInto('certificates').values(row).execute()
    },

    async update(name: string, change: Partial<Omit<CertificateRow, 'name'>>): Promise<void> {
      await db.updateTable('certificates').set(change).where('name', '=', name).execute()
    },

    /**
     * Changes the schedule of a certificate unless it was replaced, is being replaced, or is no longer
     * requested.
     */
    async plan(
      name: string,
      certificateId: string | null,
      plan: Pick<CertificateRow, 'renew_at' | 'information_at' | 'due_at' | 'informed'>,
    ): Promise<void> {
      await db
        .updateTable('certificates')
        .set(plan)
        .where('name', '=', name)
        .where('certificate_id', 'is not distinct from', certificateId)
        .where('order_url', 'is', null)
        .where('unused_since', 'is', null)
        .execute()
    },

    /** Active domains without a scheduled certificate. */
    async missing(limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('domains')
        .select('domain')
        .where('status', '=', 'active')
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('certificates')
                .select('name')
                .whereRef('certificates.name', '=', 'domains.domain')
                .where('unused_since', 'is', null),
            ),
          ),
        )
        .limit(limit)
        .execute()
      return rows.map((row) => row.domain)
    },

    /** Names with a certificate that are neither active domains nor among `others`. */
    async unneeded(others: readonly string[], limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('certificates')
        .select('name')
        .where('unused_since', 'is', null)
        .$if(others.length > 0, (query) => query.where('name', 'not in', [...others]))
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom('domains')
                .select('domain')
                .whereRef('domains.domain', '=', 'certificates.name')
                .where('status', '=', 'active'),
            ),
          ),
        )
        .limit(limit)
        .execute()
      return rows.map((row) => row.name)
    },

    /** Deletes certificates that have not been requested since that time. */
    async deleteUnused(before: number): Promise<number> {
      const deleted = await db
        .deleteFrom('certificates')
        .where('unused_since', '<', before)
        .executeTakeFirst()
      return Number(deleted.numDeletedRows)
    },
  }
}
