import assert from 'node:assert/strict'
import type { Slipway, UploadPlan, UploadTarget } from '../../client/sdk/slipway.ts'
import { sha256 } from '../api/content.ts'
import { tar } from '../archive/tar-file.ts'
import { compressibleText } from '../precompress/encoded.ts'
import type { Random } from '../support/random.ts'
import type { Clock } from '../support/service.ts'
import { deterministicBytes, received } from './bytes.ts'

/** What the service must have of a site; versions in `maybePruned` may be deleted. */
export interface Site {
  slug: string
  owner: Slipway | undefined
  claimToken: string | undefined
  createdAt: number
  expiresAt: number | undefined
  live: string | undefined
  /** The title in the head of its root document. */
  title: string | null
  /** When each version was live first. */
  publishedAt: Map<string, number>
  /** Contents of finalized versions, by version id and path. */
  kept: Map<string, Content>
  /** Finalized versions beyond the number that the service keeps: each may be pruned at any time. */
  maybePruned: Map<string, Content>
  pending: Pending[]
}

type Content = ReadonlyMap<string, Buffer>

interface Pending {
  id: string
  content: Content
  targets: UploadTarget[]
  targetsUntil: number
  createdAt: number
}

interface PublishModelOptions {
  random: Random
  clock: Clock
  owner: Slipway
  anonymous: Slipway
  versionsKept: number
  draftsKept: number
  /** Milliseconds. */
  pendingLifetime: number
}

const PATHS = ['index.html', 'a.txt', 'b.txt', 'c/d.txt', 'e.bin']

/** Contents that sites share: most compressible, some large enough to be streamed. Half of the files are unique. */
const SHARED = [
  ...Array.from({ length: 6 }, (_, name) => compressible(name, 40 + 197 * name)),
  deterministicBytes('large', 270_000),
  deterministicBytes('larger', 400_000),
]

/** Default of `SLIPWAY_PREVIEWS`. */
const DEFAULT_PREVIEWS = 50

/** A model of random publishes and of the sites that must result (model-based test). */
export class PublishModel {
  readonly sites: Site[] = []
  /** Number of runs of each action, for the diagnostics of a test. */
  readonly done = new Map<string, number>()
  readonly #options: PublishModelOptions

  constructor(options: PublishModelOptions) {
    this.#options = options
  }

  /** Runs a random action on a site. Actions on different sites may run at the same time. */
  async act(site: Site): Promise<void> {
    const { random } = this.#options
    const [name, action] = random.pick(this.#possibleActions(site))
    this.done.set(name, (this.done.get(name) ?? 0) + 1)
    await action()
    this.#markPruned(site)
  }

  async newSite(): Promise<void> {
    const { random, owner, anonymous, clock } = this.#options
    const client = random.chance(0.7) ? owner : anonymous
    const content = this.#content()
    const answer = await client.create({ files: this.#manifest(content) })
    this.sites.push({
      slug: answer.slug,
      owner: client === owner ? owner : undefined,
      claimToken: answer.claimToken,
      createdAt: clock.now,
      expiresAt: answer.expiresAt === undefined ? undefined : Date.parse(answer.expiresAt),
      live: undefined,
      publishedAt: new Map(),
      title: null,
      kept: new Map(),
      maybePruned: new Map(),
      pending: [toPending(answer.upload, content, clock.now)],
    })
  }

  /** Removes what has expired since the last call from the model. */
  timePassed(): void {
    const { clock, pendingLifetime } = this.#options
    for (const site of [...this.sites]) {
      site.pending = site.pending.filter(({ createdAt }) => createdAt + pendingLifetime > clock.now)
      const neverLive = site.live === undefined && site.kept.size === 0 && site.maybePruned.size === 0
      const abandoned = neverLive && site.pending.length === 0
      if (abandoned || (site.expiresAt ?? Number.POSITIVE_INFINITY) <= clock.now) this.#end(site)
    }
  }

  async deleteEverything(): Promise<void> {
    for (const site of [...this.sites]) {
      if (site.owner) await site.owner.delete(site.slug)
      this.#end(site)
    }
  }

  #possibleActions(site: Site): [string, () => Promise<void>][] {
    const { random } = this.#options
    const unfinished = site.pending.filter(({ targets }) => targets.length > 0)
    const others = [...site.kept.keys()].filter((id) => id !== site.live)
    return [
      ['stage', () => this.#stage(site)],
      ['publish an archive', () => this.#publishArchive(site)],
      ...times(3, unfinished.length > 0, 'upload', () => this.#upload(site, random.pick(unfinished))),
      ...times(3, site.pending.length > 0, 'finalize', () => this.#finalize(site, random.pick(site.pending))),
      ...times(1, site.pending.length > 0, 'refresh', () => this.#refresh(site, random.pick(site.pending))),
      ...times(1, site.owner && others.length > 0, 'restore', () => this.#restore(site, random.pick(others))),
      ...times(1, site.owner && others.length > 0, 'drop', () => this.#drop(site, random.pick(others))),
      ...times(1, site.owner && site.pending.length > 0, 'abort', () => this.#abort(site)),
      ...times(1, site.owner && site.live, 'duplicate', () => this.#duplicate(site)),
      ...times(2, site.owner, 'describe', () => this.#describe(site)),
      ...times(1, !site.owner, 'claim', () => this.#claim(site)),
      ...times(1, site.owner, 'delete', () => this.#delete(site)),
    ]
  }

  async #stage(site: Site): Promise<void> {
    const content = this.#content()
    const { upload } = await this.#client(site).update(site.slug, {
      files: this.#manifest(content),
      ...(site.owner ? {} : { claimToken: site.claimToken! }),
    })
    for (const { path } of upload.skipped) {
      const live = [...site.kept.get(site.live!)!.values()]
      assert.ok(
        live.some((bytes) => bytes.equals(content.get(path)!)),
        'only live bytes are skipped',
      )
    }
    this.#endOldestUploads(site)
    site.pending.push(toPending(upload, content, this.#options.clock.now))
  }

  /** Makes room for one more pending version. */
  #endOldestUploads(site: Site): void {
    const max = this.#options.draftsKept + (site.owner ? DEFAULT_PREVIEWS : 0)
    site.pending = site.pending.slice(1 - max)
  }

  async #upload(site: Site, version: Pending): Promise<void> {
    const { random, anonymous, clock } = this.#options
    if (version.targetsUntil <= clock.now) await this.#refresh(site, version)
    const some = version.targets.filter(() => random.chance(0.7))
    await Promise.all(
      some.map(async (target) => {
        const bytes = version.content.get(target.path)!
        if (random.chance(0.1)) {
          const wrong = anonymous.upload(target, bytes.subarray(1))
          await assert.rejects(wrong, { code: 'SIZE_MISMATCH' })
        }
        await anonymous.upload(target, bytes)
        version.targets.splice(version.targets.indexOf(target), 1)
        if (random.chance(0.1)) await anonymous.upload(target, bytes)
      }),
    )
  }

  async #finalize(site: Site, version: Pending): Promise<void> {
    const live = this.#options.random.chance(0.8)
    const finalizing = this.#client(site).finalize(site.slug, { versionId: version.id, live })
    if (version.targets.length > 0) {
      await assert.rejects(finalizing, { code: 'UPLOADS_MISSING' })
      return
    }
    await finalizing
    remove(site.pending, version)
    this.#finalized(site, version, live)
  }

  async #refresh(site: Site, version: Pending): Promise<void> {
    const { upload } = await this.#client(site).refresh(site.slug, {
      versionId: version.id,
      ...(site.owner ? {} : { claimToken: site.claimToken }),
    })
    const paths = (targets: UploadTarget[]) => targets.map(({ path }) => path).sort()
    assert.deepEqual(paths(upload.uploads), paths(version.targets))
    Object.assign(version, toPending(upload, version.content, this.#options.clock.now), {
      createdAt: version.createdAt,
    })
  }

  async #publishArchive(site: Site): Promise<void> {
    const content = this.#content()
    const live = this.#options.random.chance(0.8)
    const archive = tar([...content].map(([name, data]) => ({ name, data })))
    const answer = await this.#client(site).publishArchive(archive, {
      contentType: 'application/x-tar',
      slug: site.slug,
      live,
      ...(site.owner ? {} : { claimToken: site.claimToken! }),
    })
    this.#endOldestUploads(site)
    this.#finalized(site, { id: answer.versionId, content }, live)
  }

  async #restore(site: Site, id: string): Promise<void> {
    await site.owner!.restore(site.slug, id)
    this.#goneLive(site, id)
  }

  async #drop(site: Site, id: string): Promise<void> {
    await site.owner!.deleteVersion(site.slug, id)
    site.kept.delete(id)
  }

  async #abort(site: Site): Promise<void> {
    const version = this.#options.random.pick(site.pending)
    await site.owner!.deleteVersion(site.slug, version.id)
    remove(site.pending, version)
  }

  async #duplicate(site: Site): Promise<void> {
    const { slug, versionId } = await site.owner!.duplicate(site.slug)
    const content = site.kept.get(site.live!)!
    this.sites.push({
      slug,
      owner: site.owner,
      claimToken: undefined,
      createdAt: this.#options.clock.now,
      expiresAt: undefined,
      live: versionId,
      publishedAt: new Map([[versionId, this.#options.clock.now]]),
      title: site.title,
      kept: new Map([[versionId, content]]),
      maybePruned: new Map(),
      pending: [],
    })
  }

  async #describe(site: Site): Promise<void> {
    const title = this.#options.random.pick(['One', 'Two', null])
    await site.owner!.setMetadata(site.slug, { title })
    site.title = title
  }

  async #claim(site: Site): Promise<void> {
    const { owner } = this.#options
    await owner.claim(site.slug, site.claimToken!)
    Object.assign(site, { owner, expiresAt: undefined })
  }

  async #delete(site: Site): Promise<void> {
    await site.owner!.delete(site.slug)
    this.#end(site)
  }

  #finalized(site: Site, { id, content }: { id: string; content: Content }, live: boolean): void {
    site.kept.set(id, content)
    if (live) this.#goneLive(site, id)
  }

  #goneLive(site: Site, id: string): void {
    site.live = id
    if (!site.publishedAt.has(id)) site.publishedAt.set(id, this.#options.clock.now)
  }

  /**
   * Keeps the live version, the newest others that were live, those that repeat a newer one last, and the newest drafts;
   * the service may prune the rest at any time.
   */
  #markPruned(site: Site): void {
    const { versionsKept, draftsKept } = this.#options
    const { publishedAt, live } = site
    const others = [...site.kept.keys()].filter((id) => id !== live).sort()
    const published = others.filter((id) => publishedAt.has(id))
    published.sort((a, b) => publishedAt.get(a)! - publishedAt.get(b)!)
    const contents = (id: string) =>
      [...site.kept.get(id)!]
        .map(([path, bytes]) => `${path} ${sha256(bytes)}`)
        .sort()
        .join()
    const seen = new Set(live ? [contents(live)] : [])
    const repeated = new Set<string>()
    for (const id of published.toReversed()) {
      if (seen.has(contents(id))) repeated.add(id)
      seen.add(contents(id))
    }
    published.sort((a, b) => Number(repeated.has(b)) - Number(repeated.has(a)))
    const drafts = others.filter((id) => !publishedAt.has(id))
    for (const id of [
      ...published.slice(0, Math.max(0, published.length - (versionsKept - (live ? 1 : 0)))),
      ...drafts.slice(0, Math.max(0, drafts.length - draftsKept)),
    ]) {
      site.maybePruned.set(id, site.kept.get(id)!)
      site.kept.delete(id)
    }
  }

  #client(site: Site): Slipway {
    return site.owner ?? this.#options.anonymous
  }

  #content(): Content {
    const { random } = this.#options
    const paths = PATHS.filter((path) => path === 'index.html' || random.chance(0.5))
    const bytes = () => (random.chance(0.5) ? random.pick(SHARED) : compressible(random.below(2 ** 31), 300))
    return new Map(paths.map((path) => [path, bytes()]))
  }

  #manifest(content: Content) {
    const { random } = this.#options
    return [...content].map(([path, bytes]) => ({
      path,
      size: bytes.length,
      contentType: path === 'index.html' ? 'text/html' : 'text/plain',
      ...(random.chance(0.8) ? { hash: received(bytes).hash } : {}),
    }))
  }

  #end(site: Site): void {
    remove(this.sites, site)
  }
}

function compressible(name: number, size: number): Buffer {
  return Buffer.from(compressibleText(`${name}`, size))
}

function toPending(upload: UploadPlan, content: Content, createdAt: number): Pending {
  const targetsUntil = createdAt + upload.expiresInSeconds * 1000
  return { id: upload.versionId, content, targets: upload.uploads, targetsUntil, createdAt }
}

function times<T>(weight: number, possible: unknown, name: string, action: () => T): [string, () => T][] {
  return possible ? Array.from({ length: weight }, () => [name, action]) : []
}

function remove<T>(from: T[], what: T): void {
  const at = from.indexOf(what)
  if (at >= 0) from.splice(at, 1)
}
