import assert from 'node:assert/strict'
import { COMMAND_LINE_CLIENT } from '../../protocol/api/device.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { type Administrator, administrator } from '../api/administrator.ts'
import type { Account, Api } from '../api/api.ts'
import { browser } from '../api/browser.ts'
import { sha256, toManifest } from '../api/content.ts'
import { jobToken } from '../api/trusted-job.ts'
import { webp } from '../api/webp.ts'
import type { CallRequest } from '../calls.ts'
import { Program } from '../mcp/program.ts'
import { domainRow } from '../store/rows.ts'
import type { OidcIssuer } from '../tools/oidc-issuer.ts'

const CONTENTS = { 'index.html': 'home', 'a.txt': 'a' }

/** Creates what a call needs, each time anew: sites, versions, keys and accounts of one owner, through the API. */
export class CallFixture {
  readonly api: Api
  readonly owner: Account
  readonly administrator: Administrator & { account: Account }
  readonly #issuer: OidcIssuer
  #program: Promise<Program> | undefined
  #count = 0

  /** The service must trust the issuer as `github`. */
  static async create(api: Api, issuer: OidcIssuer): Promise<CallFixture> {
    const [owner, account] = [await api.account(), await api.account()]
    const admin = { ...(await administrator(api, account)), account }
    await api.setPlan(owner.email, 'hobby')
    return new CallFixture(api, owner, admin, issuer)
  }

  private constructor(api: Api, owner: Account, admin: CallFixture['administrator'], issuer: OidcIssuer) {
    this.api = api
    this.owner = owner
    this.administrator = admin
    this.#issuer = issuer
  }

  /** A name that nothing has. */
  name(): string {
    return `new-name-${++this.#count}`
  }

  email(): string {
    return `${this.name()}@example.com`
  }

  domain(): string {
    return `www.${this.name()}.example.com`
  }

  manifest() {
    return { files: toManifest(CONTENTS) }
  }

  account(): Promise<Account> {
    return this.api.account()
  }

  async accountWithId(account?: Account) {
    const { email, client } = account ?? (await this.account())
    return { email, client, id: (await (await this.api.operator()).store.read.accounts.byEmail(email))!.id }
  }

  /** An account that deletes itself. */
  async deletableAccount() {
    const { email, key } = await this.account()
    return { json: { email }, as: { key } }
  }

  /** An address with a code that was emailed to it. */
  async signIn() {
    const email = this.email()
    await this.api.anonymous.requestCode(email)
    return { email, code: await this.api.running.mailedCode(email) }
  }

  /** A browser that is signed in to an account of its own. */
  session() {
    return browser(this.api, { email: this.email() })
  }

  /** The id of a session of the owner. */
  async sessionId() {
    await browser(this.api, this.owner)
    return { id: (await this.owner.client.sessions()).sessions[0]!.id }
  }

  key() {
    return this.owner.client.createKey({ name: this.name(), scope: 'read' })
  }

  /** The code of a program that waits to be allowed. */
  device() {
    return this.api.anonymous.requestDeviceCode({ client_id: COMMAND_LINE_CLIENT, machine: this.name() })
  }

  async program(): Promise<Program> {
    this.#program ??= Program.register(this.api.baseUrl)
    return this.#program
  }

  /** The question of a program, which is open in a browser. */
  async authorization() {
    const { id, cookie } = await (await this.program()).begin()
    return { path: { id }, headers: { cookie } }
  }

  /** The id of a program with access to the account of the owner. */
  async allowedProgram() {
    await (await this.program()).tokens(this.owner.key)
    return { id: (await this.owner.client.programs()).programs[0]!.id }
  }

  /** A repository that may publish to a site. */
  async trust() {
    const { slug: site } = await this.site()
    const { id } = await this.owner.client.createTrust(this.trustRequest(site))
    return { id, site }
  }

  trustRequest(site: string) {
    return { forge: 'github', repository: 'Ann/Bakery', site, branch: 'main' } as const
  }

  jobToken(): Promise<string> {
    return jobToken(this.api, this.#issuer)
  }

  /** A request about a live site without an owner, and its claim token. */
  async unowned(request: CallRequest = {}) {
    const { claimToken, ...path } = await this.api.publish(this.api.anonymous, CONTENTS)
    return { request: { path, ...request }, claimToken: claimToken! }
  }

  /** A live site. */
  site(account = this.owner) {
    return this.api.publish(account.client, CONTENTS)
  }

  /** A request whose body names a live site. */
  async aboutSite(toJson: (slug: string) => object) {
    const path = await this.site()
    return { path, json: toJson(path.slug) }
  }

  /** A request with the claim token of a site without an owner. */
  async claim() {
    const { slug, claimToken } = await this.api.publish(this.api.anonymous, CONTENTS)
    return { path: { slug }, json: { claimToken } }
  }

  async sharedSite(email: string) {
    const { slug } = await this.site()
    await this.owner.client.addCollaborator(slug, email)
    return { slug }
  }

  async deletedSite() {
    const { slug } = await this.site()
    await this.owner.client.delete(slug)
    return { slug }
  }

  /** An earlier version of a live site. */
  async earlierVersion() {
    const { slug, siteUrl, versionId } = await this.site()
    await this.api.publish(this.owner.client, { 'index.html': 'new' }, { slug })
    return { slug, siteUrl, versionId }
  }

  /** A version of a live site whose file has not been uploaded. */
  async pendingVersion() {
    const { slug } = await this.site()
    const { upload } = await this.api.update(this.owner.client, slug, { 'index.html': 'new' })
    return { slug, versionId: upload.versionId, upload }
  }

  /** A request whose body names a version. */
  aboutVersion({ slug, versionId }: { slug: string; versionId: string }) {
    return { path: { slug }, json: { versionId } }
  }

  /** A version whose file has been uploaded. */
  async uploadedVersion() {
    const { slug, versionId, upload } = await this.pendingVersion()
    await this.api.upload(upload, { 'index.html': 'new' })
    return { slug, versionId }
  }

  async thumbnail() {
    const { slug, versionId } = await this.site()
    await this.owner.client.putThumbnail(slug, versionId, webp(1, 1))
    return { slug, versionId }
  }

  async preview() {
    const { slug } = await this.site()
    await this.api.publish(this.owner.client, { 'index.html': 'new' }, { slug, preview: 'pr-1' })
    return { slug, name: 'pr-1' }
  }

  /** A thread and a link of a live version, or of a preview. */
  async review({ slug, name }: { slug: string; name?: string }) {
    const review = this.owner.client.review(slug, name)
    const { versionId } = await review.get()
    const place = { path: '/', selector: 'p', text: 't', before: '', after: '', width: 1, height: 1 }
    const { id } = await review.createThread({ versionId, place, text: 'a' })
    const { id: linkId, url } = await review.createLink()
    return {
      slug,
      ...(name !== undefined && { name }),
      versionId,
      id,
      linkId,
      token: new URL(url).hash.slice(1),
    }
  }

  async pendingDomain() {
    const domain = this.domain()
    await this.owner.client.addDomain(domain, (await this.site()).slug)
    return { domain }
  }

  async activeDomain() {
    const [domain, { slug }, { id: accountId }] = [
      this.domain(),
      await this.site(),
      await this.accountWithId(this.owner),
    ]
    const { store } = await this.api.operator()
    const row = domainRow(domain, { accountId, slug, status: 'active' })
    await store.write('durable', {}, (tx) => tx.domains.insert(row))
    return { domain }
  }

  async suspendedSite() {
    const { slug } = await this.site()
    await (await this.api.operator()).suspensions.changeSite(COMMAND_LINE, slug, { reason: 'x' })
    return { slug }
  }

  async suspendedAccount() {
    const account = await this.accountWithId()
    await (await this.api.operator()).suspensions.changeAccount(COMMAND_LINE, account.id, { reason: 'x' })
    return account
  }

  async reportedSite() {
    const { slug, siteUrl } = await this.site()
    await this.api.anonymous.report({ url: siteUrl, reason: 'other' })
    return { slug }
  }

  async invitation() {
    const email = this.email()
    await this.#administer('POST', 'invitations', { email })
    return { email }
  }

  async banner() {
    await this.#administer('PUT', 'banner', { text: 'Maintenance' })
  }

  /** A content that no site has. */
  file() {
    return { kind: 'hash', value: sha256(this.name()) }
  }

  async blockedFile() {
    const file = this.file()
    await this.#administer('POST', 'blocks', { ...file, reason: 'x' })
    return file
  }

  async #administer(method: string, path: string, json: object): Promise<void> {
    const { key } = this.administrator
    const { status, text } = await this.api.request(method, `/api/admin/${path}`, { key, json })
    assert.ok(status < 300, text)
  }
}
