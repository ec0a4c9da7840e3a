import { type RawBuilder, sql } from 'kysely'
import { toBatches } from './batches.ts'
import { QueryGroup } from './query-group.ts'

/** Which sites, and which owners, reference which contents; `BlobQueries` changes the references. */
export class ReferenceQueries extends QueryGroup {
  /**
   * The contents among these that another site of the owner references. Exact within a write that has just added or
   * removed references of the site to them: their rows are locked until the commit.
   */
  async heldBeside(slug: string, ownerId: string, hashes: readonly string[]): Promise<Set<string>> {
    const found: string[] = []
    for (const batch of toBatches(hashes)) {
      const { rows } = await sql<{ hash: string }>`
        select hash from blobs where hash in (${sql.join(batch)}) and ${isHeldByOther('<>', slug, ownerId)}`.execute(
        this.db,
      )
      found.push(...rows.map(({ hash }) => hash))
    }
    return new Set(found)
  }

  /**
   * Bytes of the contents that a site references, and of those among them that no other site of the owner references;
   * with `<` no other one whose slug is less, so that the sum over all sites of the owner has each content once. Counts a
   * content once that the site references in both tables.
   */
  async sum(
    slug: string,
    ownerId: string | null,
    order: '<>' | '<' = '<>',
  ): Promise<{ bytes: number; own: number }> {
    const counted =
      ownerId === null
        ? sql`size`
        : sql`case when ${isHeldByOther(order, slug, ownerId)} then 0 else size end`
    const { rows } = await sql<{ bytes: number; own: number }>`
      select coalesce(sum(size), 0) as bytes, coalesce(sum(${counted}), 0) as own from (
        select hash, size, slug from blobs where slug = ${slug}
        union
        select blobs.hash, blobs.size, blobs.slug from blob_names join blobs on blobs.hash = blob_names.hash
        where blob_names.slug = ${slug}) as blobs`.execute(this.db)
    const [row] = rows
    return { bytes: Number(row!.bytes), own: Number(row!.own) }
  }

  /** Records the owner of a site with its references, which stay locked until the commit. */
  async setOwner(slug: string, ownerId: string): Promise<void> {
    const lock = this.db
      .updateTable('blobs')
      .set((e) => ({ unreferenced_since: e.ref('unreferenced_since') }))
    const names = this.db.selectFrom('blob_names').select('hash').where('slug', '=', slug)
    await lock.where('slug', '=', slug).execute()
    await lock.where('hash', 'in', names).execute()
    await this.db.updateTable('blob_names').set({ owner_id: ownerId }).where('slug', '=', slug).execute()
  }
}

function isHeldByOther(order: '<>' | '<', slug: string, ownerId: string): RawBuilder<boolean> {
  return sql`(exists (select 1 from sites where sites.slug = blobs.slug and owner_id = ${ownerId} and sites.slug ${sql.raw(order)} ${slug})
    or exists (select 1 from blob_names as other
      where other.hash = blobs.hash and other.owner_id = ${ownerId} and other.slug ${sql.raw(order)} ${slug}))`
}
