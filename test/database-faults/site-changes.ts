import { Slipway } from '../../client/sdk/slipway.ts'
import { sha256 } from '../api/content.ts'
import { domainRow } from '../store/rows.ts'
import { openStore } from '../store/test-database.ts'
import { sendRequest } from '../support/http-client.ts'
import { insertAccount } from '../support/insert-account.ts'
import { operate } from '../support/operate.ts'

/** Large enough to be compressed. */
function createPage(text: string, comment: string): string {
  return `<!doctype html><title>${text}</title>${`<p>${text}</p>`.repeat(200)}<!-- ${comment} -->`
}

function createStyle(text: string, comment: string): string {
  return `/* <p>${text}</p> ${comment} */`.repeat(100)
}

/** A fleet whose sites change. */
export interface ChangingNodes {
  /** With the key of the owner of the sites. */
  client: Slipway
  /** Publishes the page and the style with this text. */
  update(
    site: string | undefined,
    text: string,
    options?: { preview?: string; ifChanged?: boolean },
  ): Promise<{ slug: string }>
  /** Sends a change of an administrator. */
  operate(method: string, path: string, json?: object): Promise<unknown>
  /** Of the page with this text. */
  hashOf(text: string): string
  /** Visits a site at one node. */
  visit(label: string): Promise<unknown>
  /** Adds an active domain of the account. */
  addDomain(domain: string, site: string): Promise<unknown>
  /** Gives a site to a new account. */
  giveAway(site: string, account: string): Promise<unknown>
}

/** Changes sites by requests to a port of nodes of this database; the contents have what `comment` returns. */
export async function changeBy(
  nodes: { readonly port: number; readonly databaseUrl: string },
  comment: () => string,
): Promise<ChangingNodes> {
  const { port } = nodes
  const key = await insertAccount(nodes.databaseUrl, 'publisher')
  const admin = await insertAccount(nodes.databaseUrl, 'operator', { administratorSince: 1 })
  const client = new Slipway({ baseUrl: `http://localhost:${port}`, key })
  return {
    client,
    update(site, text, options) {
      const files = [
        { path: 'index.html', content: createPage(text, comment()) },
        { path: 'style.css', content: createStyle(text, comment()) },
      ]
      return client.publishContents({ files, ...options }, site)
    },
    operate: (method, path, json) => operate({ port, key: admin }, method, path, json),
    hashOf: (text) => sha256(createPage(text, comment())),
    visit: (site) => sendRequest(port, { site }),
    async addDomain(domain, slug) {
      await using store = await openStore(nodes.databaseUrl)
      const row = domainRow(domain, { accountId: 'publisher', slug, status: 'active', verifiedAt: 1000 })
      await store.write('durable', {}, (tx) => tx.domains.insert(row))
    },
    async giveAway(slug, ownerId) {
      await insertAccount(nodes.databaseUrl, ownerId)
      await using store = await openStore(nodes.databaseUrl)
      await store.write('durable', {}, (tx) => tx.sites.update(slug, { ownerId }))
    },
  }
}

export interface Change {
  what: string
  /** Before the change. */
  prepare?: (nodes: ChangingNodes, site: string) => Promise<unknown>
  change: (nodes: ChangingNodes, site: string) => Promise<unknown>
  status: number
  /** In the response after the change. */
  shows?: string
  /** The label of the site, or a domain. */
  host?: (site: string) => string
  /** Of the page that shows the change. */
  path?: string
}

const domainOf = (site: string) => `${site}.example.org`
const ownerOf = (site: string) => `owner-of-${site}`

/** All kinds of changes of a site that its visitors see. */
export const CHANGES: readonly Change[] = [
  { what: 'nothing', change: async () => {}, status: 200, shows: '<p>one</p>' },
  { what: 'an update', change: ({ update }, site) => update(site, 'two'), status: 200, shows: '<p>two</p>' },
  {
    what: 'two updates',
    change: async ({ update }, site) => {
      await update(site, 'two')
      await update(site, 'three')
    },
    status: 200,
    shows: '<p>three</p>',
  },
  {
    what: 'its deletion after twelve other changes',
    async change({ client }, site) {
      for (let change = 0; change < 12; change++)
        await client.setMetadata(site, { title: `Bakery ${change}` })
      await client.delete(site)
    },
    status: 404,
  },
  {
    what: 'an update, a visit, and the end of its encodings',
    async change({ update, visit }, site) {
      await update(site, 'two')
      await visit(site)
    },
    status: 200,
    shows: '<p>two</p>',
  },
  {
    what: 'an update, at its domain',
    prepare: ({ addDomain }, site) => addDomain(domainOf(site), site),
    change: ({ update }, site) => update(site, 'two'),
    host: domainOf,
    status: 200,
    shows: '<p>two</p>',
  },
  {
    what: 'the end of its domain, at that domain',
    prepare: ({ addDomain }, site) => addDomain(domainOf(site), site),
    change: ({ client }, site) => client.removeDomain(domainOf(site)),
    host: domainOf,
    status: 404,
  },
  {
    what: 'single-page mode',
    change: ({ client }, site) => client.setMetadata(site, { spaMode: true }),
    path: '/no-such-page',
    status: 200,
    shows: '<p>one</p>',
  },
  {
    what: 'a new title',
    change: ({ client }, site) => client.setMetadata(site, { title: 'Bakery' }),
    status: 200,
    shows: 'Bakery',
  },
  {
    what: 'a password',
    change: ({ client }, site) => client.setMetadata(site, { password: 'secret' }),
    status: 401,
  },
  {
    what: 'the end of its password',
    prepare: ({ client }, site) => client.setMetadata(site, { password: 'secret' }),
    change: ({ client }, site) => client.setMetadata(site, { password: null }),
    status: 200,
    shows: '<p>one</p>',
  },
  { what: 'its deletion', change: ({ client }, site) => client.delete(site), status: 404 },
  {
    what: 'its return from the trash',
    prepare: ({ client }, site) => client.delete(site),
    change: ({ client }, site) => client.undelete(site),
    status: 200,
    shows: '<p>one</p>',
  },
  {
    what: 'its suspension',
    change: ({ operate }, site) => operate('PUT', `sites/${site}/suspension`, { reason: 'a reason' }),
    status: 451,
  },
  {
    what: 'the end of its suspension',
    prepare: ({ operate }, site) => operate('PUT', `sites/${site}/suspension`, { reason: 'a reason' }),
    change: ({ operate }, site) => operate('DELETE', `sites/${site}/suspension`),
    status: 200,
    shows: '<p>one</p>',
  },
  {
    what: 'the suspension of its owner',
    prepare: ({ giveAway }, site) => giveAway(site, ownerOf(site)),
    change: ({ operate }, site) =>
      operate('PUT', `accounts/${encodeURIComponent(ownerOf(site))}/suspension`, { reason: 'a reason' }),
    status: 451,
  },
  {
    what: 'a block of its file',
    prepare: ({ update }, site) => update(site, site),
    change: ({ operate, hashOf }, site) =>
      operate('POST', 'blocks', { kind: 'hash', value: hashOf(site), reason: 'a reason' }),
    status: 451,
  },
  {
    what: 'the end of a block of its file',
    async prepare({ update, operate, hashOf }, site) {
      await update(site, site)
      await operate('POST', 'blocks', { kind: 'hash', value: hashOf(site), reason: 'a reason' })
    },
    change: ({ operate, hashOf }, site) => operate('DELETE', 'blocks', { kind: 'hash', value: hashOf(site) }),
    status: 200,
    shows: '<p>',
  },
  {
    what: 'the end of the suspension of its owner',
    async prepare({ giveAway, operate }, site) {
      await giveAway(site, ownerOf(site))
      await operate('PUT', `accounts/${encodeURIComponent(ownerOf(site))}/suspension`, { reason: 'a reason' })
    },
    change: ({ operate }, site) =>
      operate('DELETE', `accounts/${encodeURIComponent(ownerOf(site))}/suspension`),
    status: 200,
    shows: '<p>one</p>',
  },
  {
    what: 'the deletion of its owner',
    prepare: ({ giveAway }, site) => giveAway(site, ownerOf(site)),
    change: ({ operate }, site) =>
      operate('DELETE', `accounts/${encodeURIComponent(ownerOf(site))}`, { reason: 'a reason' }),
    status: 404,
  },
  {
    what: 'a preview that becomes its version',
    prepare: ({ update }, site) => update(site, 'draft', { preview: 'spring' }),
    change: ({ client }, site) => client.promote(site, 'spring'),
    status: 200,
    shows: '<p>draft</p>',
  },
  { what: 'a new name', change: ({ client }, site) => client.renameSite(site, `new-${site}`), status: 308 },
  {
    what: 'a new name, at that name',
    change: ({ client }, site) => client.renameSite(site, `new-${site}`),
    host: (site) => `new-${site}`,
    status: 200,
    shows: '<p>one</p>',
  },
  {
    what: 'an earlier version',
    prepare: ({ update }, site) => update(site, 'two'),
    change: async ({ client }, site) => {
      const { versions } = await client.versions(site)
      await client.restore(site, versions.find(({ current }) => !current)!.versionId)
    },
    status: 200,
    shows: '<p>one</p>',
  },
  {
    what: 'an update of its preview',
    prepare: ({ update }, site) => update(site, 'draft', { preview: 'spring' }),
    change: ({ update }, site) => update(site, 'better', { preview: 'spring' }),
    host: (site) => `spring--${site}`,
    status: 200,
    shows: '<p>better</p>',
  },
  {
    what: 'the end of its preview',
    prepare: ({ update }, site) => update(site, 'draft', { preview: 'spring' }),
    change: ({ client }, site) => client.deletePreview(site, 'spring'),
    host: (site) => `spring--${site}`,
    status: 404,
  },
]

/** Changes after which visitors see the same, or may see it for as long as the database is away. */
export const UNSEEN_CHANGES: readonly Pick<Change, 'what' | 'prepare' | 'change'>[] = [
  {
    what: 'the end of versions beyond those that are kept',
    async change({ update }, site) {
      for (let version = 0; version < 12; version++) await update(site, `version ${version}`)
    },
  },
  {
    what: 'a later end',
    prepare: ({ client }, site) => client.setMetadata(site, { ttlSeconds: 3600 }),
    change: ({ client }, site) => client.setMetadata(site, { ttlSeconds: 7200 }),
  },
  {
    what: 'a publish of the same files',
    change: ({ update }, site) => update(site, 'two', { ifChanged: true }),
  },
  {
    what: 'an update of a preview',
    async change({ update }, site) {
      for (const text of ['draft', 'better']) await update(site, text, { preview: 'spring' })
    },
  },
]

const CODINGS = ['identity', 'br']

/** Paths with codings of all files. */
export const PAGE_AND_STYLE = ['/', '/style.css'].flatMap((path) =>
  CODINGS.map((coding) => [path, coding] as const),
)

/** Those that show a change. */
export function listShown({ path = '/', shows = '' }: Change): (readonly [path: string, coding: string])[] {
  return path === '/' && shows.startsWith('<p>')
    ? PAGE_AND_STYLE
    : CODINGS.map((coding) => [path, coding] as const)
}

/** The name of a host at which every node serves a site. */
export function hostOf(label: string): string {
  return label.includes('.') ? label : `${label}.localhost`
}

/** The label of the site that shows a change, before the change. */
export function formerLabel({ what, host = (site) => site }: Change, site: string): string {
  return what.includes('at that name') ? site : host(site)
}
