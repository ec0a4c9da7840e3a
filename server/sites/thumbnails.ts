import { hash } from 'node:crypto'
import type { ThumbnailResponse } from '../../protocol/api/versions.schema.ts'
import {
  type Caller,
  findRole,
  isRetired,
  requireNotExpired,
  requirePublisher,
} from '../accounts/authorization.ts'
import type { Blocklist } from '../accounts/blocklist.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { Component } from '../lib/component.ts'
import { ApiError, siteNotFound } from '../lib/errors.ts'
import type { Parts } from '../parts.ts'
import type { Queries } from '../store/queries.ts'
import type { Site } from '../store/tables/sites.ts'
import { requireFinalized, requireVersion } from './version.ts'
import { assertThumbnail } from './webp.ts'

type ThumbnailsParts = Pick<Parts, 'store' | 'addresses' | 'clock'> & {
  blocklist: Blocklist
  blobs: Pick<Blobs, 'assertSpace'>
}

export interface ThumbnailTarget {
  slug: string
  versionId: string
  claimToken?: string | undefined
}

/** Pictures of versions, drawn by the browsers of their publishers or by the operator's. */
export class Thumbnails extends Component<ThumbnailsParts> {
  /** Replaces an earlier one. `charge` charges all but the first of a version, which is part of its publish. */
  async put(
    caller: Caller,
    target: ThumbnailTarget,
    bytes: Buffer,
    charge: () => Promise<void>,
  ): Promise<ThumbnailResponse> {
    const isFirst = await this.#isFirst(caller, target, bytes).catch(async (error: unknown) => {
      await charge()
      throw error
    })
    if (!isFirst) await charge()
    return this.store(target, bytes)
  }

  async store(
    { slug, versionId }: ThumbnailTarget,
    bytes: Buffer,
    store = this.parts.store,
  ): Promise<ThumbnailResponse> {
    const { blocklist, blobs, addresses } = this.parts
    const thumbnailHash = hash('sha256', bytes)
    await blocklist.assertFiles([{ path: 'thumbnail.webp', hash: thumbnailHash }])
    await blobs.assertSpace(bytes.length)
    const version = await store.write('durable', { site: slug }, async (tx) => {
      const found = requireVersion(await tx.versions.header(versionId), slug)
      await tx.versions.setThumbnail(versionId, thumbnailHash, bytes)
      return { ...found, thumbnailHash }
    })
    return { slug, versionId, thumbnailUrl: addresses.thumbnail(version)! }
  }

  /**
   * NOT_FOUND without a picture, and for one that the operator has blocked; of a site that has a password, is suspended
   * or is of a suspended account, for everyone but its owner and its collaborators.
   */
  async get({ account }: Caller, { slug, versionId }: ThumbnailTarget): Promise<Buffer> {
    const { store, blocklist, clock } = this.parts
    const { read } = store
    const found = await read.sites.find(slug)
    if (!found || isRetired(found)) throw siteNotFound()
    const site = requireNotExpired(found, clock())
    const isShown = (account && (await findRole(read, site, account))) || (await isPublic(read, site))
    if (!isShown) throw siteNotFound()
    const { id, thumbnailHash } = requireVersion(await read.versions.header(versionId), slug)
    const isBlocked = thumbnailHash !== null && (await blocklist.hasHash(thumbnailHash))
    const bytes = isBlocked ? undefined : await read.versions.findThumbnail(id)
    if (!bytes) throw new ApiError('NOT_FOUND', 'The version has no thumbnail')
    return bytes
  }

  /** Checks the request; returns whether the version has no thumbnail yet. */
  async #isFirst(
    caller: Caller,
    { slug, versionId, claimToken }: ThumbnailTarget,
    bytes: Buffer,
  ): Promise<boolean> {
    const { store, clock } = this.parts
    await requirePublisher(store.read, caller, { slug, claimToken, now: clock() })
    const version = requireFinalized(requireVersion(await store.read.versions.header(versionId), slug))
    assertThumbnail(bytes)
    return version.thumbnailHash === null
  }
}

async function isPublic(
  { accounts }: Queries,
  { passwordHash, suspension, ownerId }: Site,
): Promise<boolean> {
  if (passwordHash !== null || suspension) return false
  return ownerId === null || !(await accounts.find(ownerId))?.suspension
}
