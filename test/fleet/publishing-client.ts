import { setTimeout as pause } from 'node:timers/promises'
import type { Slipway } from '../../client/sdk/slipway.ts'
import { isSlipwayError } from '../../client/sdk/slipway-error.ts'
import { toFiles } from '../api/content.ts'
import type { Random } from '../support/random.ts'
import type { Fleet } from './fleet.ts'
import type { Report } from './report.ts'
import { filesOf } from './site-files.ts'
import { SiteHistory } from './site-history.ts'

interface PublishingOptions {
  fleet: Fleet
  /** Of the account that owns its sites. */
  key: string
  random: Random
  report: Report
  /** Receives each site after its first publish. */
  sites: SiteHistory[]
  /** Numbers of contents, unique in a run. */
  nextContent(): number
}

const MAX_SITES = 6
const MAX_REQUEST_MS = 15_000
const MAX_PAUSE_MS = 120

/** Fewer than are kept. */
const RESTORED_VERSIONS = 5

/** Publishes, updates, restores, claims and deletes sites one after another, and lets some of them expire. */
export class PublishingClient {
  readonly #options: PublishingOptions
  #own: SiteHistory[] = []

  constructor(options: PublishingOptions) {
    this.#options = options
  }

  async run(signal: AbortSignal): Promise<void> {
    const { random } = this.#options
    while (!signal.aborted) {
      await this.#step()
      await pause(random.below(MAX_PAUSE_MS))
    }
  }

  async #step(): Promise<void> {
    const { random, report } = this.#options
    this.#own = this.#own.filter((site) => !site.isDeleted && !site.isUnknown && !isExpiring(site))
    const isNew = this.#own.length < 2 || (this.#own.length < MAX_SITES && random.chance(0.2))
    const site = isNew ? undefined : random.pick(this.#own)
    const [name, work] = site === undefined ? this.#choosePublish() : this.#chooseChange(site)
    const startedAt = performance.now()
    try {
      await work()
      report.count(`${name}: acknowledged`)
      report.max(`${name}: longest, ms`, performance.now() - startedAt)
    } catch (error) {
      const code = isSlipwayError(error) ? error.code : String(error)
      report.count(`${name}: ${code}`)
      report.max(`${name}: longest until it failed, ms`, performance.now() - startedAt)
      if (site?.mayBeDeleted && code === 'NOT_FOUND') this.#own = this.#own.filter((one) => one !== site)
      else if (!isTemporary(error) && !isTooLate(site, code))
        report.violation(`${name} of ${site?.slug ?? 'a new site'}: ${error}`)
    }
  }

  #choosePublish(): [name: string, work: () => Promise<void>] {
    const isAnonymous = this.#options.random.chance(0.4)
    return [isAnonymous ? 'publish without an account' : 'publish', () => this.#publish(isAnonymous)]
  }

  #chooseChange(site: SiteHistory): [name: string, work: () => Promise<void>] {
    const { random } = this.#options
    const choice = random.next()
    if (site.claimToken !== undefined && choice < 0.3) return ['claim', () => this.#claim(site)]
    if (site.claimToken === undefined && choice < 0.2) return ['delete', () => this.#delete(site)]
    if (site.claimToken === undefined && choice < 0.4) return ['restore', () => this.#restore(site)]
    return ['update', () => this.#update(site)]
  }

  async #publish(isAnonymous: boolean): Promise<void> {
    const { nextContent, sites } = this.#options
    const content = nextContent()
    const files = toFiles(filesOf(content))
    const client = this.#client(isAnonymous)
    const { slug, versionId, claimToken, expiresAt } = await client.publish({ files })
    const site = new SiteHistory({
      slug,
      claimToken,
      expiresAt: expiresAt === undefined ? undefined : Date.parse(expiresAt),
    })
    await site.change(content, async () => undefined)
    site.versions.push({ content, versionId })
    this.#own.push(site)
    sites.push(site)
  }

  async #update(site: SiteHistory): Promise<void> {
    const content = this.#options.nextContent()
    const files = toFiles(filesOf(content))
    const { slug, claimToken } = site
    const client = this.#client(claimToken !== undefined)
    const publishing = () => client.publish({ slug, files, claimToken })
    const { versionId } = await site.change(content, publishing)
    site.versions.push({ content, versionId })
  }

  async #restore(site: SiteHistory): Promise<void> {
    const { content, versionId } = this.#options.random.pick(site.versions.slice(-RESTORED_VERSIONS))
    await site.change(content, () => this.#client().restore(site.slug, versionId))
  }

  async #delete(site: SiteHistory): Promise<void> {
    await site.change(undefined, () => this.#client().delete(site.slug))
  }

  async #claim(site: SiteHistory): Promise<void> {
    await site.claim(() => this.#client().claim(site.slug, site.claimToken!))
  }

  #client(isAnonymous = false): Slipway {
    const client = this.#options.fleet.client(isAnonymous ? undefined : this.#options.key)
    return client.with({ signal: deadline() })
  }
}

function deadline(): AbortSignal {
  return AbortSignal.timeout(MAX_REQUEST_MS)
}

/** A change could end after the site. */
function isExpiring({ expiresAt }: SiteHistory): boolean {
  return expiresAt !== undefined && Date.now() > expiresAt - MAX_REQUEST_MS
}

/** Whether a new site without an account expired while it was published. */
function isTooLate(site: SiteHistory | undefined, code: string): boolean {
  return site === undefined && code === 'SITE_EXPIRED'
}

/** Whether the service, or the network, says that it can be tried again. */
function isTemporary(error: unknown): boolean {
  return (error as Error).name === 'TimeoutError' || isSlipwayError(error, 'UNAVAILABLE', 'NETWORK')
}
