import { randomUUID } from 'node:crypto'
import { isSlipwayError, type Slipway, type SlipwayError } from '../../client/sdk/slipway.ts'
import { buildArchive } from '../archive/build-archive.ts'
import type { Random } from '../support/random.ts'
import type { AckLog, Fact, KnownSite } from './ack-log.ts'
import { firstSite, generateBytes, type MadeSite, nextSite, publishFiles } from './site-content.ts'

interface PublisherOptions {
  /** A client without a key. */
  client: Slipway
  ackLog: AckLog
  random: Random
  /** Waits for the next sign-in code sent to an address. */
  mailedCode: (email: string) => Promise<string>
  /** Called after each failure; resolves when the server responds again. */
  recovery: () => Promise<void>
}

interface Action {
  site?: KnownSite
  run(): Promise<void>
}

const ARCHIVES = [
  ['tar', 'application/x-tar'],
  ['tar.gz', 'application/gzip'],
  ['zip', 'application/zip'],
] as const

const MAX_SITES = 4

/** Below the server's limit of five codes per hour and address. */
const MAX_CODES = 4

/**
 * A client that publishes, updates, restores and deletes sites in sequence, and logs its requests and their
 * acknowledgments.
 */
export class Publisher {
  readonly #options: PublisherOptions
  #email = ''
  #codes = 0
  #key: string | undefined
  #sites: KnownSite[] = []

  constructor(options: PublisherOptions) {
    this.#options = options
  }

  /**
   * Runs random actions until `isDone()`. After a failed request the state of its site is uncertain, and no further
   * action uses the site; an error response is logged as a refusal.
   */
  async work(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      const action = this.#pickAction()
      try {
        await action.run()
      } catch (error) {
        if (!isSlipwayError(error)) throw error
        this.#markUncertain(action, error)
        await this.#options.recovery()
      }
    }
  }

  #markUncertain({ site }: Action, { status, code, message }: SlipwayError): void {
    const { ackLog } = this.#options
    if (status >= 400 && code !== 'UNAVAILABLE') {
      ackLog.add({ kind: 'refusal', status, sentence: `${status} ${code}: ${message}` })
    }
    this.#sites = this.#sites.filter((one) => one !== site && one.requested === undefined)
    if (ackLog.accounts.get(this.#email)?.keyUncertain) this.#key = undefined
  }

  #pickAction(): Action {
    const random = this.#options.random
    if (this.#key === undefined) return { run: () => this.#signIn() }
    const site = this.#sites.length > 0 ? random.pick(this.#sites) : undefined
    if (!site || (this.#sites.length < MAX_SITES && random.chance(0.3))) return { run: () => this.#create() }
    const actions = site.email === undefined ? this.#anonymousActions(site) : this.#ownedActions(site)
    return { site, run: random.pick(actions) }
  }

  #anonymousActions(site: KnownSite): (() => Promise<void>)[] {
    const update = () => this.#update(site)
    return [update, update, () => this.#updateByArchive(site), () => this.#claim(site)]
  }

  #ownedActions(site: KnownSite): (() => Promise<void>)[] {
    const update = () => this.#update(site)
    const updateByArchive = () => this.#updateByArchive(site)
    return [
      ...[update, update, update, update],
      ...[updateByArchive, updateByArchive],
      () => this.#restore(site),
      () => this.#keepDraft(site),
      () => this.#duplicate(site),
      () => this.#uploadWithoutFinalize(site),
      () => this.#remove(site),
      () => this.#signIn(),
    ]
  }

  /** Requests a new key, which revokes the last: with a code from an email, or with the key near the code limit. */
  async #signIn(): Promise<void> {
    if (this.#codes < MAX_CODES) return this.#signInByCode()
    if (this.#key === undefined) return this.#switchAccount()
    this.#add({ kind: 'key request', email: this.#email })
    const { apiKey } = await this.#owner.newKey()
    this.#storeKey(apiKey)
  }

  async #signInByCode(): Promise<void> {
    if (this.#codes++ === 0) this.#email = `${randomUUID()}@example.test`
    await this.#anonymous.requestCode(this.#email)
    const code = await this.#options.mailedCode(this.#email)
    this.#add({ kind: 'key request', email: this.#email })
    const { apiKey } = await this.#anonymous.verifyCode(this.#email, code)
    this.#storeKey(apiKey)
  }

  async #switchAccount(): Promise<void> {
    this.#codes = 0
    this.#sites = []
  }

  #storeKey(key: string): void {
    this.#key = key
    this.#add({ kind: 'key', email: this.#email, key })
  }

  async #create(): Promise<void> {
    const owned = this.#options.random.chance(0.7)
    const state = firstSite(randomUUID(), this.#options.random)
    if (this.#options.random.chance(0.3)) await this.#createByArchive(state, owned)
    else await this.#createByManifest(state, owned)
  }

  async #createByManifest(state: MadeSite, owned: boolean): Promise<void> {
    let slug = ''
    const { versionId } = await this.#client(owned).publish({
      files: publishFiles(state, this.#options.random),
      onStaged: (staged) => {
        slug = staged.slug
        this.#recordSite(slug, owned, staged.claimToken)
        this.#add({ kind: 'change request', slug, state })
      },
    })
    this.#add({ kind: 'live', slug, versionId, state })
  }

  async #createByArchive(state: MadeSite, owned: boolean): Promise<void> {
    const { archive, contentType } = this.#buildArchive(state)
    const answer = await this.#client(owned).publishArchive(archive, { contentType })
    this.#recordSite(answer.slug, owned, answer.claimToken)
    this.#add({ kind: 'live', slug: answer.slug, versionId: answer.versionId, state })
  }

  #recordSite(slug: string, owned: boolean, claimToken: string | undefined): void {
    this.#add({ kind: 'site', slug, email: owned ? this.#email : undefined, claimToken })
    this.#sites.push(this.#options.ackLog.sites.get(slug)!)
  }

  async #update(site: KnownSite): Promise<void> {
    const state = this.#next(site)
    this.#add({ kind: 'change request', slug: site.slug, state })
    const { versionId } = await this.#client(true).publish({
      files: publishFiles(state, this.#options.random),
      ...toTarget(site),
    })
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  async #updateByArchive(site: KnownSite): Promise<void> {
    const state = this.#next(site)
    const { archive, contentType } = this.#buildArchive(state)
    this.#add({ kind: 'change request', slug: site.slug, state })
    const { versionId } = await this.#owner.publishArchive(archive, { contentType, ...toTarget(site) })
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  /** Picks among the newest versions, which the server keeps; older ones may have been pruned. */
  async #restore(site: KnownSite): Promise<void> {
    const [versionId, state] = this.#options.random.pick([...site.versions].slice(-3))
    this.#add({ kind: 'change request', slug: site.slug, state })
    await this.#owner.restore(site.slug, versionId)
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  async #keepDraft(site: KnownSite): Promise<void> {
    const state = this.#next(site)
    const files = publishFiles(state, this.#options.random)
    const { versionId } = await this.#owner.publish({ files, slug: site.slug, live: false })
    this.#add({ kind: 'draft', slug: site.slug, versionId, state })
  }

  async #duplicate(site: KnownSite): Promise<void> {
    const state = site.state!
    const { slug, versionId } = await this.#owner.duplicate(site.slug)
    this.#add({ kind: 'site', slug, email: this.#email })
    this.#add({ kind: 'live', slug, versionId, state })
  }

  /** Like a client that disconnects between the last upload and finalize. */
  async #uploadWithoutFinalize(site: KnownSite): Promise<void> {
    const state = this.#next(site)
    const files = publishFiles(state, this.#options.random)
    const { upload } = await this.#owner.update(site.slug, {
      files: files.map(({ open: _, ...entry }) => entry),
    })
    for (const target of upload.uploads)
      await this.#anonymous.upload(target, generateBytes(state[target.path]!))
    this.#add({ kind: 'unfinalized', slug: site.slug, versionId: upload.versionId, state })
  }

  async #claim(site: KnownSite): Promise<void> {
    await this.#owner.claim(site.slug, site.claimToken!)
    this.#add({ kind: 'site', slug: site.slug, email: this.#email })
  }

  async #remove(site: KnownSite): Promise<void> {
    this.#add({ kind: 'change request', slug: site.slug, state: null })
    await this.#owner.delete(site.slug)
    this.#add({ kind: 'deleted', slug: site.slug })
    this.#sites = this.#sites.filter((one) => one !== site)
  }

  #buildArchive(state: MadeSite) {
    const [kind, contentType] = this.#options.random.pick(ARCHIVES)
    const files = Object.entries(state).map(([name, file]) => ({ name, data: generateBytes(file) }))
    return { archive: buildArchive(kind, files), contentType }
  }

  #next(site: KnownSite): MadeSite {
    return nextSite(site.state!, randomUUID(), this.#options.random)
  }

  #client(owned: boolean): Slipway {
    return owned ? this.#owner : this.#anonymous
  }

  get #anonymous(): Slipway {
    return this.#options.client
  }

  get #owner(): Slipway {
    return this.#anonymous.with({ key: this.#key })
  }

  #add(fact: Fact): void {
    this.#options.ackLog.add(fact)
  }
}

/** An anonymous site is updated with its claim token instead of a key. */
function toTarget({ slug, email, claimToken }: KnownSite): { slug: string; claimToken?: string } {
  return email === undefined ? { slug, claimToken: claimToken! } : { slug }
}
