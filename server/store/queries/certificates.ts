import type { Kysely } from 'kysely'
import type { CertificateRow, Schema } from '../schema.ts'

export type Certificates = ReturnType<typeof certificatesOver>

/** What a certificate's status is made of, without its chain and keys. */
export type CertificateSummary = Pick<
  CertificateRow,
  'name' | 'not_after' | 'issued_at' | 'renew_at' | 'failures' | 'problem' | 'due_at'
>

export function certificatesOver(db: Kysely<Schema>) {
  const all = () => db.selectFrom('certificates').selectAll()
  return {
    find: (name: string) => all().where('name', '=', name).executeTakeFirst(),

    /** Of those of the names that are known. */
    summaries: (names: readonly string[]): Promise<CertificateSummary[]> =>
      db
        .selectFrom('certificates')
        .select(['name', 'not_after', 'issued_at', 'renew_at', 'failures', 'problem', 'due_at'])
        .where('name', 'in', [...names])
        .execute(),

    /** Names for which something is to be done by `now`, the longest due first. */
    async due(now: number, limit: number): Promise<string[]> {
      const rows = await db
        .selectFrom('certificates')
        .select('name')
        .where('due_at', '<=', now)
        .orderBy('due_at')
        .orderBy('name')
        .limit(limit)
        .execute()
      return rows.map((row) => row.name)
    },

    async insert(row: CertificateRow): Promise<void> {
      await db.insertInto('certificates').values(row).execute()
    },

    async update(name: string, change: Partial<Omit<CertificateRow, 'name'>>): Promise<void> {
      await db.updateTable('certificates').set(change).where('name', '=', name).execute()
    },

    /** Drops certificates that nobody has wanted since before that time. */
    async dropUnused(before: number): Promise<number> {
      const gone = await db.deleteFrom('certificates').where('unused_since', '<', before).executeTakeFirst()
      return Number(gone.numDeletedRows)
    },
  }
}
