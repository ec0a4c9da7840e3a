import { randomUUID } from 'node:crypto'
import { isSlipwayError, type Slipway, type SlipwayError } from '../../client/sdk/slipway.ts'
import type { Random } from '../support/random.ts'
import { ARCHIVE_TYPES, buildArchive } from './archive-bytes.ts'
import type { AckLog, Fact, KnownSite } from './ledger.ts'
import { firstSite, generateBytes, type MadeSite, nextSite, publishFiles } from './site-content.ts'

interface PublisherOptions {
  /** A client without a key. */
  client: Slipway
  ledger: AckLog
  random: Random
  /** The code in the newest letter to an address. */
  mailedCode: (email: string) => Promise<string>
  /** Resolves when the service is there again; asked after each failure. */
  recovery: () => Promise<void>
}

/** What is to be done, and to which site. */
interface Act {
  site?: KnownSite
  run(): Promise<void>
}

/** Sites that a publisher works on at a time; more are left alone for good. */
const MAX_SITES = 4

/** The service mails at most five codes an hour to an address. */
const MAX_CODES = 4

/**
 * Somebody who publishes, updates, restores and deletes, one thing after another, and notes in the ledger what
 * was asked for and what was acknowledged.
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
   * Does one thing after another until `enough` says so. What fails because the service went away is left in doubt,
   * and its site is not touched again; a refusal is a surprise.
   */
  async work(enough: () => boolean): Promise<void> {
    while (!enough()) {
      const act = this.#pickAct()
      try {
        await act.run()
      } catch (error) {
        if (!isSlipwayError(error)) throw error
        this.#leaveInDoubt(act, error)
        await this.#options.recovery()
      }
    }
  }

  #leaveInDoubt({ site }: Act, { status, code, message }: SlipwayError): void {
    const { ledger } = this.#options
    if (status >= 400 && code !== 'UNAVAILABLE') {
      ledger.add({ kind: 'surprise', status, sentence: `${status} ${code}: ${message}` })
    }
    this.#sites = this.#sites.filter((one) => one !== site && one.wish === undefined)
    if (ledger.accounts.get(this.#email)?.unsure) this.#key = undefined
  }

  #pickAct(): Act {
    const random = this.#options.random
    if (this.#key === undefined) return { run: () => this.#signIn() }
    const site = this.#sites.length > 0 ? random.pick(this.#sites) : undefined
    if (!site || (this.#sites.length < MAX_SITES && random.chance(0.3))) return { run: () => this.#begin() }
    const acts = site.email === undefined ? this.#actsOnAnonymous(site) : this.#actsOnOwned(site)
    return { site, run: random.pick(acts) }
  }

  #actsOnAnonymous(site: KnownSite): (() => Promise<void>)[] {
    const update = () => this.#update(site)
    return [update, update, () => this.#updateByArchive(site), () => this.#claim(site)]
  }

  #actsOnOwned(site: KnownSite): (() => Promise<void>)[] {
    const update = () => this.#update(site)
    const updateByArchive = () => this.#updateByArchive(site)
    return [
      ...[update, update, update, update],
      ...[updateByArchive, updateByArchive],
      () => this.#restore(site),
      () => this.#keepDraft(site),
      () => this.#duplicate(site),
      () => this.#leaveWaiting(site),
      () => this.#remove(site),
      () => this.#signIn(),
    ]
  }

  /** A new key, which ends the one before: by a mailed code, or by the key itself when there were codes enough. */
  async #signIn(): Promise<void> {
    if (this.#codes < MAX_CODES) return this.#signInByCode()
    if (this.#key === undefined) return this.#becomeAnother()
    this.#add({ kind: 'wish for a key', email: this.#email })
    const { apiKey } = await this.#owner.newKey()
    this.#hold(apiKey)
  }

  async #signInByCode(): Promise<void> {
    if (this.#codes++ === 0) this.#email = `${randomUUID()}@example.test`
    await this.#anonymous.requestCode(this.#email)
    const code = await this.#options.mailedCode(this.#email)
    this.#add({ kind: 'wish for a key', email: this.#email })
    const { apiKey } = await this.#anonymous.verifyCode(this.#email, code)
    this.#hold(apiKey)
  }

  async #becomeAnother(): Promise<void> {
    this.#codes = 0
    this.#sites = []
  }

  #hold(key: string): void {
    this.#key = key
    this.#add({ kind: 'key', email: this.#email, key })
  }

  async #begin(): Promise<void> {
    const owned = this.#options.random.chance(0.7)
    const state = firstSite(randomUUID(), this.#options.random)
    if (this.#options.random.chance(0.3)) await this.#beginByArchive(state, owned)
    else await this.#beginByManifest(state, owned)
  }

  async #beginByManifest(state: MadeSite, owned: boolean): Promise<void> {
    let slug = ''
    const { versionId } = await this.#client(owned).publish({
      files: publishFiles(state, this.#options.random),
      onStaged: (staged) => {
        slug = staged.slug
        this.#know(slug, owned, staged.claimToken)
        this.#add({ kind: 'wish', slug, state })
      },
    })
    this.#add({ kind: 'live', slug, versionId, state })
  }

  async #beginByArchive(state: MadeSite, owned: boolean): Promise<void> {
    const contentType = this.#options.random.pick(ARCHIVE_TYPES)
    const archive = await buildArchive(contentType, contents(state))
    const answer = await this.#client(owned).publishArchive(archive, { contentType })
    this.#know(answer.slug, owned, answer.claimToken)
    this.#add({ kind: 'live', slug: answer.slug, versionId: answer.versionId, state })
  }

  #know(slug: string, owned: boolean, claimToken: string | undefined): void {
    this.#add({ kind: 'site', slug, email: owned ? this.#email : undefined, claimToken })
    this.#sites.push(this.#options.ledger.sites.get(slug)!)
  }

  async #update(site: KnownSite): Promise<void> {
    const state = this.#next(site)
    this.#add({ kind: 'wish', slug: site.slug, state })
    const { versionId } = await this.#client(true).publish({
      files: publishFiles(state, this.#options.random),
      ...wayTo(site),
    })
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  async #updateByArchive(site: KnownSite): Promise<void> {
    const state = this.#next(site)
    const contentType = this.#options.random.pick(ARCHIVE_TYPES)
    const archive = await buildArchive(contentType, contents(state))
    this.#add({ kind: 'wish', slug: site.slug, state })
    const { versionId } = await this.#owner.publishArchive(archive, { contentType, ...wayTo(site) })
    this.#add({ kind: 'live', slug: site.slug, versionId, state })
  }

  /** The newest versions are sure to be kept; older ones may have made room. */
  async #restore(site: KnownSite): Promise<void> {
    const [versionId, state] = this.#options.random.pick([...site.versions].slice(-3))
    this.#add({ kind: 'wish', slug: site.slug, state })
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

  /** As a client does that goes away between the last upload and finalize. */
  async #leaveWaiting(site: KnownSite): Promise<void> {
    const state = this.#next(site)
    const files = publishFiles(state, this.#options.random)
    const { upload } = await this.#owner.update(site.slug, {
      files: files.map(({ open: _, ...entry }) => entry),
    })
    for (const target of upload.uploads)
      await this.#anonymous.upload(target, generateBytes(state[target.path]!))
    this.#add({ kind: 'waiting', slug: site.slug, versionId: upload.versionId, state })
  }

  async #claim(site: KnownSite): Promise<void> {
    await this.#owner.claim(site.slug, site.claimToken!)
    this.#add({ kind: 'site', slug: site.slug, email: this.#email })
  }

  async #remove(site: KnownSite): Promise<void> {
    this.#add({ kind: 'wish', slug: site.slug, state: null })
    await this.#owner.delete(site.slug)
    this.#add({ kind: 'deleted', slug: site.slug })
    this.#sites = this.#sites.filter((one) => one !== site)
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
    this.#options.ledger.add(fact)
  }
}

/** An anonymous site is updated by its claim token, in place of a key. */
function wayTo({ slug, email, claimToken }: KnownSite): { slug: string; claimToken?: string } {
  return email === undefined ? { slug, claimToken: claimToken! } : { slug }
}

function* contents(site: MadeSite): Generator<[string, Buffer]> {
  for (const [path, file] of Object.entries(site)) yield [path, generateBytes(file)]
}
