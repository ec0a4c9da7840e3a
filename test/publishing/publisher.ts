import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { isSlipwayError, type Slipway, type UploadPlan, type UploadTarget } from '../../client/sdk/slipway.ts'
import { buildArchive } from '../archive/build-archive.ts'
import type { Random } from '../support/random.ts'
import { firstSite, generateBytes, type MadeSite, nextSite, publishFiles } from './content.ts'
import type { Fact, History, SiteHistory } from './history.ts'

interface PublisherOptions {
  /** A client without a key. */
  client: Slipway
  history: History
  random: Random
  /** Waits for the next sign-in code sent to an address: the publisher signs in by mail, again and again. */
  mailedCode?: (email: string) => Promise<string>
  /** The account of its sites, when it does not sign in itself. */
  account?: { email: string; key: string }
  /** Only these actions, besides new sites; all by default. */
  actions?: readonly ActionName[]
  maxSites?: number
  /** Of a request, with its repetitions. */
  maxRequestMs?: number
  /** Called after each action that succeeded, with its duration in milliseconds. */
  onDone?: (name: string, milliseconds: number) => void
  /** Called after each failure; by default it rejects. */
  onError?: (error: unknown, name: string, milliseconds: number) => void | Promise<void>
  /** Anonymous sites that end sooner are left alone, in milliseconds. */
  timeToExpiry?: number
  /** How long the service keeps versions that are not finalized, in milliseconds. */
  pendingLifetime?: number
}

/** How often each action is chosen, for an anonymous site and for one with an owner. */
const WEIGHTS = {
  update: [2, 4],
  archive: [1, 2],
  draft: [1, 1],
  stage: [1, 1],
  upload: [2, 3],
  finalize: [2, 3],
  refresh: [1, 1],
  restore: [0, 1],
  'delete version': [0, 1],
  duplicate: [0, 1],
  title: [0, 1],
  claim: [1, 0],
  delete: [0, 1],
  'sign in': [0, 1],
} satisfies Record<string, [number, number]>

export type ActionName = keyof typeof WEIGHTS

interface StagedVersion {
  id: string
  state: MadeSite
  targets: UploadTarget[]
  targetsUntil: number
  createdAt: number
}

const ARCHIVES = [
  ['tar', 'application/x-tar'],
  ['tar.gz', 'application/gzip'],
  ['zip', 'application/zip'],
] as const

const MAX_SITES = 4

/** Below the server's limit of five codes per hour and address. */
const MAX_CODES = 4

/** The service keeps one more besides them, at least. */
const RESTORABLE_VERSIONS = 2

/**
 * A client that publishes, updates, restores, claims and deletes sites at random, one action after another, and records its
 * requests and their acknowledgments.
 */
export class Publisher {
  readonly #options: PublisherOptions
  readonly #random: Random
  readonly #history: History
  #email = ''
  #codes = 0
  #key: string | undefined
  #sites: SiteHistory[] = []
  readonly #staged = new Map<SiteHistory, StagedVersion[]>()

  constructor(options: PublisherOptions) {
    this.#options = options
    this.#random = options.random
    this.#history = options.history
    this.#email = options.account?.email ?? ''
    this.#key = options.account?.key
  }

  async work(isDone: () => boolean): Promise<void> {
    while (!isDone()) await this.step()
  }

  /** Runs one action. A site whose request failed is uncertain, and no further action uses it. */
  async step(): Promise<void> {
    this.#sites = this.#sites.filter((site) => this.#isUsable(site))
    const { name, site, run } = this.#pickAction()
    const startedAt = performance.now()
    try {
      await run()
    } catch (error) {
      if (!this.#options.onError) throw error
      this.#recordFailure(site, error)
      return this.#options.onError(error, name, performance.now() - startedAt)
    }
    this.#options.onDone?.(name, performance.now() - startedAt)
  }

  #isUsable(site: SiteHistory): boolean {
    const { timeToExpiry = 0, pendingLifetime = Number.POSITIVE_INFINITY } = this.#options
    const now = this.#history.now()
    const isKept = ({ id, createdAt }: StagedVersion) =>
      createdAt + pendingLifetime > now && !site.versions.has(id)
    this.#staged.set(site, this.#stagedOf(site).filter(isKept))
    return !site.isDeleted && !site.isExpired(now + timeToExpiry)
  }

  #recordFailure(site: SiteHistory | undefined, error: unknown): void {
    if (isSlipwayError(error) && error.status >= 400 && error.code !== 'UNAVAILABLE') {
      const { status, code, message } = error
      this.#add({ kind: 'refusal', status, sentence: `${status} ${code}: ${message}` })
    }
    // A new site is one that has a request.
    const uncertain = this.#sites.filter((one) => one === site || one.possibleStates.length > 1)
    for (const { slug } of uncertain) this.#add({ kind: 'failure', slug })
    this.#sites = this.#sites.filter((one) => !uncertain.includes(one))
    if (this.#history.accounts.get(this.#email)?.keyUncertain) this.#key = undefined
  }

  #pickAction(): { name: string; site?: SiteHistory; run: () => Promise<void> } {
    const { maxSites = MAX_SITES } = this.#options
    if (this.#key === undefined) return { name: 'sign in', run: () => this.#signIn() }
    const site = this.#sites.length > 0 ? this.#random.pick(this.#sites) : undefined
    if (!site || (this.#sites.length < maxSites && this.#random.chance(0.25)))
      return { name: 'publish', run: () => this.#create() }
    const actions = this.#possibleActions(site)
    const possible = Object.keys(actions) as ActionName[]
    const weighted = possible.flatMap((name) => Array(WEIGHTS[name][site.email ? 1 : 0]).fill(name))
    const name: ActionName = this.#random.pick(weighted)
    return { name, site, run: () => actions[name]!(site) }
  }

  #possibleActions(site: SiteHistory): Partial<Record<ActionName, (site: SiteHistory) => Promise<void>>> {
    const { actions, mailedCode } = this.#options
    const staged = this.#stagedOf(site)
    const maxStaged = site.email === undefined ? 1 : 2
    const hasOthers = site.restorableVersions(RESTORABLE_VERSIONS).length > 0
    const possible = {
      update: true,
      archive: true,
      draft: true,
      stage: staged.length < maxStaged,
      upload: staged.some(({ targets }) => targets.length > 0),
      finalize: staged.length > 0,
      refresh: staged.length > 0,
      restore: hasOthers,
      'delete version': hasOthers || staged.length > 0,
      duplicate: true,
      title: true,
      claim: true,
      delete: true,
      'sign in': mailedCode !== undefined,
    } satisfies Record<ActionName, boolean>
    const names = (Object.keys(possible) as ActionName[]).filter(
      (name) => possible[name] && (actions?.includes(name) ?? true),
    )
    return Object.fromEntries(names.map((name) => [name, this.#actions[name]]))
  }

  readonly #actions: Record<ActionName, (site: SiteHistory) => Promise<void>> = {
    update: (site) => this.#update(site),
    archive: (site) => this.#updateByArchive(site),
    draft: (site) => this.#keepDraft(site),
    stage: (site) => this.#stage(site),
    upload: (site) => this.#upload(site),
    finalize: (site) => this.#finalize(site),
    refresh: (site) => this.#refresh(site, this.#random.pick(this.#stagedOf(site))),
    restore: (site) => this.#restore(site),
    'delete version': (site) => this.#deleteVersion(site),
    duplicate: (site) => this.#duplicate(site),
    title: (site) => this.#setTitle(site),
    claim: (site) => this.#claim(site),
    delete: (site) => this.#remove(site),
    'sign in': () => this.#signIn(),
  }

  /** Requests a new key, which revokes the last: with a code from an email, or with the key near the code limit. */
  async #signIn(): Promise<void> {
    if (this.#codes < MAX_CODES) return this.#signInByCode()
    if (this.#key === undefined) {
      // Begins with another account.
      this.#codes = 0
      this.#sites = []
      return
    }
    this.#add({ kind: 'key request', email: this.#email })
    const { apiKey } = await this.#owner.newKey()
    this.#storeKey(apiKey)
  }

  async #signInByCode(): Promise<void> {
    if (this.#codes++ === 0) this.#email = `${randomUUID()}@example.test`
    await this.#anonymous.requestCode(this.#email)
    const code = await this.#options.mailedCode!(this.#email)
    this.#add({ kind: 'key request', email: this.#email })
    const { apiKey } = await this.#anonymous.verifyCode(this.#email, code)
    this.#storeKey(apiKey)
  }

  #storeKey(key: string): void {
    this.#key = key
    this.#add({ kind: 'key', email: this.#email, key })
  }

  async #create(): Promise<void> {
    const isOwned = this.#random.chance(0.7)
    const client = isOwned ? this.#owner : this.#anonymous
    const state = firstSite(randomUUID(), this.#random)
    let slug = ''
    const record = (site: { slug: string; claimToken?: string; expiresAt?: string }) => {
      slug = site.slug
      this.#recordSite(site, isOwned)
    }
    if (this.#random.chance(0.3)) {
      const { archive, contentType } = this.#buildArchive(state)
      const site = await client.publishArchive(archive, { contentType })
      record(site)
      return this.#add({ kind: 'live', slug, versionId: site.versionId, state })
    }
    const files = publishFiles(state, this.#random)
    const { versionId } = await client.publish({
      files,
      onStaged: (staged) => {
        record(staged)
        this.#add({ kind: 'change request', slug, state })
      },
    })
    this.#add({ kind: 'live', slug, versionId, state })
  }

  #recordSite(site: { slug: string; claimToken?: string; expiresAt?: string }, isOwned: boolean): void {
    const { slug, claimToken, expiresAt } = site
    this.#add({
      kind: 'site',
      slug,
      ...(isOwned ? { email: this.#email } : { claimToken }),
      ...(expiresAt === undefined ? {} : { expiresAt: Date.parse(expiresAt) }),
    })
    this.#sites.push(this.#history.sites.get(slug)!)
  }

  async #update(site: SiteHistory): Promise<void> {
    const state = this.#next(site)
    this.#add({ kind: 'change request', slug: site.slug, state })
    const files = publishFiles(state, this.#random)
    const { versionId } = await this.#client(site).publish({ files, ...toTarget(site) })
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  async #updateByArchive(site: SiteHistory): Promise<void> {
    const state = this.#next(site)
    const { archive, contentType } = this.#buildArchive(state)
    this.#add({ kind: 'change request', slug: site.slug, state })
    const options = { contentType, ...toTarget(site) }
    const { versionId } = await this.#client(site).publishArchive(archive, options)
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  async #keepDraft(site: SiteHistory): Promise<void> {
    const state = this.#next(site)
    const files = publishFiles(state, this.#random)
    const { versionId } = await this.#client(site).publish({ files, ...toTarget(site), live: false })
    this.#add({ kind: 'draft', slug: site.slug, versionId, state })
  }

  async #stage(site: SiteHistory): Promise<void> {
    const state = this.#next(site)
    const files = publishFiles(state, this.#random).map(({ open: _, ...entry }) => entry)
    const { slug, ...claim } = toTarget(site)
    const { upload } = await this.#client(site).update(slug, { files, ...claim })
    const live = Object.values(site.state!).map(({ hash }) => hash)
    for (const { path } of upload.skipped) assert.ok(live.includes(state[path]!.hash), `${path} is not live`)
    this.#stagedOf(site).push(toStaged(upload, state, this.#history.now()))
    this.#recordIfUploaded(site, this.#stagedOf(site).at(-1)!)
  }

  /** Like a client that disconnects between two uploads, or between the last and finalize. */
  async #upload(site: SiteHistory): Promise<void> {
    const staged = this.#random.pick(this.#stagedOf(site).filter(({ targets }) => targets.length > 0))
    if (staged.targetsUntil <= this.#history.now()) await this.#refresh(site, staged)
    for (const target of [...staged.targets]) {
      if (this.#random.chance(0.3)) continue
      const bytes = generateBytes(staged.state[target.path]!)
      if (this.#random.chance(0.1))
        await assertRefused(this.#anonymous.upload(target, bytes.subarray(1)), 'SIZE_MISMATCH')
      await this.#anonymous.upload(target, bytes)
      staged.targets.splice(staged.targets.indexOf(target), 1)
      if (this.#random.chance(0.1)) await this.#anonymous.upload(target, bytes)
    }
    this.#recordIfUploaded(site, staged)
  }

  #recordIfUploaded({ slug }: SiteHistory, { targets, id, state }: StagedVersion): void {
    if (targets.length === 0) this.#add({ kind: 'uploaded', slug, versionId: id, state })
  }

  async #finalize(site: SiteHistory): Promise<void> {
    const staged = this.#random.pick(this.#stagedOf(site))
    const { id: versionId, state } = staged
    const live = this.#random.chance(0.8)
    const { slug, ...claim } = toTarget(site)
    const finalize = () => this.#client(site).finalize(slug, { versionId, live, ...claim })
    if (staged.targets.length > 0) return assertRefused(finalize(), 'UPLOADS_MISSING')
    if (live) this.#add({ kind: 'change request', slug, state })
    await finalize()
    this.#forgetStaged(site, staged)
    this.#add({ kind: live ? 'live' : 'draft', slug, versionId, state })
  }

  async #refresh(site: SiteHistory, staged: StagedVersion): Promise<void> {
    const { slug, ...claim } = toTarget(site)
    const { upload } = await this.#client(site).refresh(slug, { versionId: staged.id, ...claim })
    const paths = (targets: UploadTarget[]) => targets.map(({ path }) => path).sort()
    assert.deepEqual(paths(upload.uploads), paths(staged.targets))
    const { createdAt } = staged
    Object.assign(staged, toStaged(upload, staged.state, this.#history.now()), { createdAt })
  }

  async #restore(site: SiteHistory): Promise<void> {
    const versionId = this.#random.pick(site.restorableVersions(RESTORABLE_VERSIONS))
    const { state } = site.versions.get(versionId)!
    this.#add({ kind: 'change request', slug: site.slug, state })
    await this.#owner.restore(site.slug, versionId)
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  async #deleteVersion(site: SiteHistory): Promise<void> {
    const staged = this.#stagedOf(site)
    const finalized = site.restorableVersions(RESTORABLE_VERSIONS)
    const versionId = this.#random.pick([...finalized, ...staged.map(({ id }) => id)])
    // Before the request: a power cut can come between its commit and its response.
    this.#add({ kind: 'version deleted', slug: site.slug, versionId })
    await this.#owner.deleteVersion(site.slug, versionId)
    for (const one of staged.filter(({ id }) => id === versionId)) this.#forgetStaged(site, one)
  }

  async #duplicate(site: SiteHistory): Promise<void> {
    const state = site.state!
    const { slug, versionId } = await this.#owner.duplicate(site.slug)
    this.#add({ kind: 'site', slug, email: this.#email })
    this.#add({ kind: 'live', slug, versionId, state })
    this.#add({ kind: 'title', slug, title: site.title })
  }

  async #setTitle({ slug }: SiteHistory): Promise<void> {
    const title = this.#random.pick(['One', 'Two'])
    this.#add({ kind: 'title', slug, title })
    await this.#owner.setMetadata(slug, { title })
  }

  async #claim(site: SiteHistory): Promise<void> {
    this.#add({ kind: 'claim request', slug: site.slug })
    await this.#owner.claim(site.slug, site.claimToken!)
    this.#add({ kind: 'site', slug: site.slug, email: this.#email })
  }

  async #remove({ slug }: SiteHistory): Promise<void> {
    this.#add({ kind: 'change request', slug, state: null })
    await this.#owner.delete(slug)
    this.#add({ kind: 'deleted', slug })
  }

  #buildArchive(state: MadeSite) {
    const [kind, contentType] = this.#random.pick(ARCHIVES)
    const files = Object.entries(state).map(([name, file]) => ({ name, data: generateBytes(file) }))
    return { archive: buildArchive(kind, files), contentType }
  }

  /** Every version has a name of its own. */
  #next(site: SiteHistory): MadeSite {
    return nextSite(site.state!, randomUUID(), this.#random)
  }

  #stagedOf(site: SiteHistory): StagedVersion[] {
    const staged = this.#staged.get(site) ?? []
    this.#staged.set(site, staged)
    return staged
  }

  #forgetStaged(site: SiteHistory, staged: StagedVersion): void {
    this.#staged.set(
      site,
      this.#stagedOf(site).filter((one) => one !== staged),
    )
  }

  #client(site: SiteHistory): Slipway {
    return site.email === undefined ? this.#anonymous : this.#owner
  }

  get #anonymous(): Slipway {
    const { client, maxRequestMs } = this.#options
    return maxRequestMs === undefined ? client : client.with({ signal: AbortSignal.timeout(maxRequestMs) })
  }

  get #owner(): Slipway {
    return this.#anonymous.with({ key: this.#key })
  }

  #add(fact: Fact): void {
    this.#history.add(fact)
  }
}

/** An anonymous site is updated with its claim token instead of a key. */
function toTarget({ slug, email, claimToken }: SiteHistory): { slug: string; claimToken?: string } {
  return email === undefined ? { slug, claimToken: claimToken! } : { slug }
}

function toStaged({ versionId, uploads, expiresInSeconds }: UploadPlan, state: MadeSite, now: number) {
  const targetsUntil = now + expiresInSeconds * 1000
  return { id: versionId, state, targets: [...uploads], targetsUntil, createdAt: now }
}

/** The request fails with this error, or with one that has nothing to do with it. */
async function assertRefused(request: Promise<unknown>, code: 'SIZE_MISMATCH' | 'UPLOADS_MISSING') {
  const error = await request.then(
    () => assert.fail(`${code} was expected`),
    (reason: unknown) => reason,
  )
  if (!isSlipwayError(error, code)) throw error
}

/** For `onError`: errors of the client are expected, others are defects of the test. */
export function throwUnlessSlipwayError(error: unknown): void {
  if (!isSlipwayError(error)) throw error
}
