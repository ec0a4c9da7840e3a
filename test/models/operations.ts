import type { Slipway } from '../../client/sdk/slipway.ts'
import type { KeyScope } from '../../protocol/api/keys.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../server/lib/time.ts'
import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { sha256 } from '../api/content.ts'
import { create, finalize, publishSecret, stage, update } from './publishes.ts'
import {
  type Credential,
  type Person,
  type Right,
  refusalsOf,
  refusalsOfLink,
  refusalsOfToken,
  Site,
  suspensionOf,
  type Version,
} from './sites.ts'
import type { Model, Step } from './step.ts'
import type { World } from './world.ts'

export const PREVIEWS = ['pr-1', 'pr-2']

const DOMAINS = ['alpha-test.com', 'www.alpha-test.com', 'app.beta-test.org']
const PLACE = { path: '/', selector: 'p', text: 't', before: '', after: '', width: 1, height: 1 }
const TRASH_LIFETIME_MS = 30 * DAY_MS
const REDIRECT_MS = 30 * DAY_MS
const COOKIE_LIFETIME_MS = DAY_MS
const LINK_LIFETIME_MS = 30 * DAY_MS
const FOREVER = Number.POSITIVE_INFINITY

/** How often an operation is chosen, and what it does. */
type Operation = [weight: number, run: (step: Step) => unknown]

/** One call about a site, and what follows from its success. */
interface SiteCall<Result> {
  right: Right
  needs: KeyScope
  must?: (string | false)[]
  may?: (string | false)[]
  by?: Credential | undefined
  call: (client: Slipway, slug: string) => Promise<Result>
  onDone?: (result: Result) => unknown
}

async function callAbout<Result>(
  step: Step,
  what: string,
  site: Site,
  given: SiteCall<Result>,
): Promise<void> {
  const { right, needs, must = [], may = [], by = step.credential(site), call, onDone } = given
  const refused = refusalsOf(site, by, { right, needs, now: step.now })
  const hasEnded = refused.must.includes('UNAUTHORIZED')
  for (const code of hasEnded ? [] : must) if (code) refused.must.push(code)
  for (const code of may) if (code) refused.may.push(code)
  const result = await step.attempt(`${what} of ${site.slug}`, refused, () =>
    call(step.client(by), site.slug),
  )
  if (result !== undefined) onDone?.(result)
}

// biome-ignore format: one row per operation
export const OPERATIONS: Record<string, Operation> = {
  create: [4, (step) => create(step, step.pick(step.model.people))],
  'create anonymously': [2, (step) => create(step, undefined)],
  update: [12, (step) => update(step, step.usualSite(), updateChoice(step))],
  'update anything': [2, (step) => update(step, step.chooseSite(), updateChoice(step))],
  preview: [8, (step) => update(step, step.ownedSite(), { preview: step.pick(PREVIEWS), merge: step.random.chance(0.2) })],
  stage: [3, stage],
  finalize: [3, finalize],
  secret: [0.7, publishSecret],
  promote: [5, promote],
  'delete preview': [2, (step) => {
    const [site, name] = [step.ownedSite(), step.pick(PREVIEWS)]
    return callAbout(step, `delete ${name}`, site, { right: 'remove', needs: 'preview', must: [!site.preview(name, step.now) && 'NOT_FOUND'], call: (client, slug) => client.deletePreview(slug, name), onDone: () => site.previews.delete(name) })
  }],
  restore: [5, (step) => {
    const site = step.ownedSite()
    const version = step.pick(site.versions)
    // The service keeps some of them.
    const may = version === site.live ? [] : ['NOT_FOUND', 'APPROVAL_REQUIRED']
    return callAbout(step, `restore ${version.id}`, site, { right: 'publish', needs: 'publish', may, call: (client, slug) => client.restore(slug, version.id), onDone: () => site.goLive(version, step.now) })
  }],
  'delete version': [3, (step) => {
    const site = step.ownedSite()
    const version = step.pick(site.versions)
    const isLive = version === site.live
    return callAbout(step, `delete ${version.id}`, site, { right: 'remove', needs: 'manage', by: site.owner?.key, must: [isLive && 'VERSION_LIVE'], may: [!isLive && 'NOT_FOUND'], call: (client, slug) => client.deleteVersion(slug, version.id), onDone: () => site.forget(version) })
  }],
  title: [2, (step) => {
    const [site, title] = [step.ownedSite(), step.random.pick(['One', 'Two', null])]
    return callAbout(step, `title ${title}`, site, { right: 'publish', needs: 'manage', call: (client, slug) => client.setMetadata(slug, { title }) })
  }],
  expiry: [1, (step) => {
    const [site, ttlSeconds] = [step.ownedSite(), step.random.pick([3600, null])]
    const expiresAt = ttlSeconds === null ? FOREVER : step.now + ttlSeconds * SECOND_MS
    return callAbout(step, `lifetime ${ttlSeconds}`, site, { right: 'manage', needs: 'manage', call: (client, slug) => client.setMetadata(slug, { ttlSeconds }), onDone: () => Object.assign(site, { expiresAt }) })
  }],
  password: [1, (step) => {
    const [site, password] = [step.ownedSite(), step.random.pick(['sesame', null])]
    return callAbout(step, `password ${password}`, site, { right: 'manage', needs: 'manage', call: (client, slug) => client.setMetadata(slug, { password }), onDone: () => Object.assign(site, { password, passwordChanges: site.passwordChanges + 1 }) })
  }],
  'enter password': [2, enterPassword],
  'approval rule': [3, (step) => {
    const [site, requireApproval] = [step.ownedSite(), step.random.pick(['off', 'anyone', 'collaborators'] as const)]
    return callAbout(step, `approval by ${requireApproval}`, site, { right: 'manage', needs: 'manage', call: (client, slug) => client.setMetadata(slug, { requireApproval }), onDone: () => Object.assign(site, { approval: requireApproval }) })
  }],
  rename: [3, (step) => {
    const [site, name] = [step.ownedSite(), step.model.nextName()]
    return callAbout(step, `rename to ${name}`, site, { right: 'manage', needs: 'manage', may: ['RATE_LIMITED'], call: (client, slug) => client.renameSite(slug, name), onDone: () => site.rename(name, step.now + REDIRECT_MS) })
  }],
  duplicate: [2, (step) => {
    const site = step.ownedSite()
    const { live, owner, allowsSecret } = site
    const add = ({ slug, versionId: id }: { slug: string; versionId: string }) => {
      const copy = new Site({ slug, owner, claimToken: undefined, expiresAt: FOREVER })
      step.model.sites.push(copy)
      copy.allowsSecret = allowsSecret
      copy.goLive({ id, files: live!.files, wasLive: true }, step.now)
    }
    return callAbout(step, 'copy', site, { right: 'publish', needs: 'publish', by: owner!.key, must: [!live && 'SITE_PENDING'], call: (client, slug) => client.duplicate(slug), onDone: add })
  }],
  delete: [3, (step) => remove(step, step.random.chance(0.2))],
  undelete: [3, (step) => {
    const site = step.chooseSite(({ owner, isGone }) => owner && isGone)
    const { key } = site.owner!
    const must = key.hasEnded ? ['UNAUTHORIZED'] : site.isDeleted ? ['NOT_FOUND'] : []
    const may = [...suspensionOf(site.owner).must, ...(step.now >= site.deletedUntil! ? ['NOT_FOUND', 'SITE_EXPIRED'] : [])]
    return step.attempt(`undelete ${site.slug}`, { must, may }, () => step.client(key).undelete(site.slug)).then((done) => done && Object.assign(site, { deletedUntil: undefined }))
  }],
  claim: [3, claim],
  share: [2, (step) => {
    const site = step.ownedSite()
    const { email } = step.pick(step.model.people.filter((one) => one !== site.owner))
    return callAbout(step, `share with ${email}`, site, { right: 'manage', needs: 'manage', by: site.owner!.key, may: ['RATE_LIMITED'], call: (client, slug) => client.addCollaborator(slug, email), onDone: () => site.collaborators.add(email) })
  }],
  unshare: [2, (step) => {
    const site = step.chooseSite(({ collaborators }) => collaborators.size > 0)
    const email = step.pick([...site.collaborators])
    return callAbout(step, `unshare with ${email}`, site, { right: 'delete', needs: 'manage', by: site.owner!.key, call: (client, slug) => client.removeCollaborator(slug, email), onDone: () => endAccess(step.model, site, email) })
  }],
  trust: [1, (step) => {
    const site = step.ownedSite()
    return callAbout(step, 'trust', site, { right: 'publish', needs: 'manage', by: step.pick(step.model.people).key, may: ['ACCOUNT_SUSPENDED'], call: (client, slug) => client.createTrust({ site: slug, forge: 'github', repository: 'owner/name', branch: 'main' }) })
  }],
  'review link': [3, createLink],
  'open link': [5, (step) => {
    const link = step.pick(step.model.links)
    step.site = link.site
    return step.attempt(`open a link to ${link.preview} of ${link.site.slug}`, refusalsOfLink(link, step.now), () => step.world.client(step.node, { reviewToken: link.token }).openReview())
  }],
  'revoke link': [1, (step) => {
    const link = step.pick(step.model.links.filter((one) => refusalsOfLink(one, step.now).must.length === 0))
    return callAbout(step, 'revoke a link', link.site, { right: 'remove', needs: 'publish', by: link.site.owner?.key, may: [link.site.wasDeleted && 'NOT_FOUND'], call: (client, slug) => client.review(slug, link.preview).revokeLink(link.id), onDone: () => Object.assign(link, { isRevoked: true }) })
  }],
  comment: [2, (step) => review(step, (version, about) => about.createThread({ versionId: version.id, place: PLACE, text: 'a comment', name: 'Gil' }), 'preview')],
  decide: [4, (step) => {
    const decision = step.random.pick(['approved', 'approved', 'changes-requested'] as const)
    return review(step, (version, about) => about.decide({ versionId: version.id, decision, name: 'Gil' }), 'manage', (site, version) => site.decisions.push({ version, isApproval: decision === 'approved' }))
  }],
  'add domain': [3, (step) => {
    const [site, domain] = [step.ownedSite(), step.pick(DOMAINS)]
    return callAbout(step, `add ${domain}`, site, { right: 'manage', needs: 'manage', by: site.owner!.key, may: ['DOMAIN_TAKEN', 'DOMAIN_LIMIT_REACHED'], call: (client, slug) => client.addDomain(domain, slug), onDone: ({ records }) => step.model.proofs.push({ domain, value: records[1]!.value }) })
  }],
  'set records': [3, (step) => {
    const [domain, isThere] = [step.pick(DOMAINS), step.random.chance(0.8)]
    step.world.setRecords(domain, isThere ? step.model.proofs.filter((one) => one.domain === domain).map(({ value }) => value) : undefined)
  }],
  'check records': [5, async (step) => {
    for (let check = 0; check < 3; check++) {
      step.world.now += 5 * SECOND_MS
      await step.world.sweep('domains', 'slow-domains')
    }
  }],
  'remove domain': [1, (step) => {
    const [domain, person] = [step.pick(DOMAINS), step.pick(step.model.people)]
    return step.attempt(`remove ${domain} of ${person.email}`, { must: [], may: ['NOT_FOUND'] }, () => step.client(person.key).removeDomain(domain))
  }],
  key: [3, createKey],
  'revoke key': [1, (step) => {
    const key = step.pick(step.model.credentials.filter(({ id, hasEnded, expiresAt }) => id && !hasEnded && step.now < expiresAt))
    const may = key.sites?.some((site) => site.isExpired(step.now)) ? ['NOT_FOUND'] : []
    return step.attempt(`revoke a key of ${key.person.email}`, { must: [], may }, () => step.client(key.person.key).revokeKey(key.id!)).then((done) => done && Object.assign(key, { hasEnded: true }))
  }],
  'new key': [1, async (step) => {
    const person = step.pick(step.model.people)
    const made = await step.attempt(`new key of ${person.email}`, suspensionOf(person), () => step.client(person.key).newKey())
    if (made) giveKey(step.model, person, made.apiKey)
  }],
  probe: [5, probe],
  suspend: [2, async (step) => {
    const site = step.random.chance(0.7) ? step.chooseSite((one) => one.isShown(step.now)) : undefined
    const subject = site ?? step.pick(step.model.people)
    await setSuspension(step, subject, { reason: 'abuse' })
  }],
  resume: [3, async (step) => {
    for (const person of step.model.people.filter(({ isSuspended }) => isSuspended)) await setSuspension(step, person)
    const site = step.chooseSite(({ isSuspended, isGone }) => isSuspended && !isGone)
    if (!site.isExpired(step.now)) await setSuspension(step, site)
  }],
  'delete account': [0.4, deleteAccount],
  wait: [6, (step) => advance(step, step.random.pick([1, SECOND_MS, MINUTE_MS, MINUTE_MS, 20 * MINUTE_MS, HOUR_MS]))],
  'wait long': [0.7, (step) => advance(step, DAY_MS * step.random.pick([1, 3, 31]))],
  sweep: [5, (step) => step.world.sweep('expired-sites', 'trash', 'leaving', 'abandoned', 'old-versions', 'uploads', 'blobs')],
  'sweep others': [2, (step) => step.world.sweep('encodings', 'sign-ins', 'former-names', 'unnamed', 'verification', 'held-domains')],
}

export async function signIn(world: World, model: Model, email: string): Promise<void> {
  const person = { email, isSuspended: false, hasLeft: false } as Person
  giveKey(model, person, await world.signIn(0, email))
  model.people.push(person)
}

function giveKey(model: Model, person: Person, token: string): void {
  if (person.key) person.key.hasEnded = true
  person.key = { token, person, scope: 'manage', sites: null, expiresAt: FOREVER, hasEnded: false }
  model.credentials.push(person.key)
}

function updateChoice({ random }: Step) {
  return {
    merge: random.chance(0.2),
    ifChanged: random.chance(0.2),
    ...(random.chance(0.1) && { live: false as const }),
  }
}

function advance(step: Step, milliseconds: number): void {
  step.world.now += milliseconds
}

/** Refused without the approval that the site requires. */
function promote(step: Step): Promise<void> {
  const [site, name] = [step.ownedSite(), step.pick(PREVIEWS)]
  const version = site.preview(name, step.now)?.version
  const needsApproval = site.approval !== 'off' && version !== undefined
  const decision = version && site.lastDecision(version)
  const isUnsure = decision?.version !== version || site.approval === 'collaborators' || site.wasDeleted
  return callAbout(step, `promote ${name}`, site, {
    right: 'publish',
    needs: 'publish',
    must: [!version && 'NOT_FOUND', needsApproval && !decision?.isApproval && 'APPROVAL_REQUIRED'],
    may: [needsApproval && isUnsure && 'APPROVAL_REQUIRED'],
    call: (client, slug) => client.promote(slug, name),
    onDone: () => site.goLive(version!, step.now),
  })
}

async function enterPassword(step: Step): Promise<void> {
  const site = step.chooseSite(({ password, live, isGone }) => password !== null && live && !isGone)
  if (!site.isShown(step.now)) return
  const isRight = step.random.chance(0.8)
  const body = new URLSearchParams({ password: isRight ? site.password! : 'wrong', next: '/' }).toString()
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const target = { host: `${site.slug}.localhost`, path: '/_slipway/password' }
  const response = await step.world.visit(step.node, { ...target, method: 'POST', headers, body })
  const what = `${isRight ? 'the right' : 'a wrong'} password of ${site.slug}: ${response.status}`
  step.notes.push(what)
  if (response.status === 429) return
  const cookie = response.headers['set-cookie']?.[0]
  if ((cookie !== undefined) !== isRight) throw new Error(what)
  if (cookie)
    site.cookies.push({
      text: cookie.split(';')[0]!,
      host: site.slug,
      at: site.passwordChanges,
      expiresAt: step.now + COOKIE_LIFETIME_MS,
    })
}

async function remove(step: Step, permanent: boolean): Promise<void> {
  const isAny = step.random.chance(0.1)
  const site = step.chooseSite((one) => !one.isGone || isAny)
  const { owner, claimToken } = site
  const options = { right: 'delete', needs: 'manage', now: step.now } as const
  const refused = owner ? refusalsOf(site, owner.key, options) : refusalsOfToken(site, step.now)
  // A site is deleted from the trash, too; one without an owner also while it is suspended or has expired.
  const isRemovable = owner
    ? permanent && site.isGone && !owner.key.hasEnded
    : site.isSuspended || site.isExpired(step.now)
  if (isRemovable && !site.isDeleted) refused.may.push(...refused.must.splice(0))
  const done = await step.attempt(`delete ${site.slug}${permanent ? ' permanently' : ''}`, refused, () =>
    owner
      ? step.client(owner.key).delete(site.slug, { permanent })
      : step.client().delete(site.slug, { claimToken: claimToken! }),
  )
  if (!done) return
  if (owner && !permanent) site.moveToTrash(Math.min(step.now + TRASH_LIFETIME_MS, site.expiresAt))
  else endSite(step, site)
}

/** With the access that is for this site only. */
function endSite({ model, now }: Pick<Step, 'model' | 'now'>, site: Site): void {
  site.moveToTrash(now)
  site.isDeleted = true
  for (const key of model.credentials) if (key.sites?.includes(site)) key.hasEnded = true
}

/** Of a collaborator who is removed. */
function endAccess({ credentials, links }: Model, site: Site, email: string): void {
  site.collaborators.delete(email)
  for (const key of credentials)
    if (key.person.email === email && key.sites?.includes(site)) key.hasEnded = true
  for (const link of links)
    if (link.site === site && link.creator.person.email === email) link.isRevoked = true
}

async function claim(step: Step): Promise<void> {
  const site = step.chooseSite(({ owner }) => !owner)
  const person = step.pick(step.model.people)
  const name = step.random.chance(0.4) ? step.model.nextName() : undefined
  const { must, may } = refusalsOfToken(site, step.now)
  const suspension = suspensionOf(person).must
  const refused = { must: [...must, ...suspension], may: [...may, 'RATE_LIMITED'] }
  const done = await step.attempt(`claim ${site.slug} as ${name}`, refused, () =>
    step.client(person.key).claim(site.slug, site.claimToken!, name),
  )
  if (!done) return
  Object.assign(site, { owner: person, expiresAt: FOREVER })
  if (name !== undefined) site.rename(name, step.now + REDIRECT_MS)
}

async function createLink(step: Step): Promise<void> {
  const site = step.ownedSite()
  const preview = step.random.pick([undefined, ...PREVIEWS])
  const creator = step.credential(site)
  const shown = preview === undefined ? site.live && site.shown : site.preview(preview, step.now)?.shown
  const add = ({ id, url }: { id: string; url: string }) =>
    step.model.links.push({
      ...{ site, preview, shown: shown!, id, token: new URL(url).hash.slice(1), creator, isRevoked: false },
      expiresAt: preview === undefined ? step.now + LINK_LIFETIME_MS : FOREVER,
    })
  await callAbout(step, `a link to ${preview}`, site, {
    ...{
      right: 'publish',
      needs: 'publish',
      by: creator,
      must: [!shown && 'NOT_FOUND', !shown && 'SITE_PENDING'],
    },
    call: (client, slug) => client.review(slug, preview).createLink({ audience: 'anyone' }),
    onDone: add,
  })
}

type AboutReview = ReturnType<Slipway['review']>

/** A comment or decision about what a review shows now: of an account, or of the holder of a link. */
async function review(
  step: Step,
  call: (version: Version, about: AboutReview) => Promise<unknown>,
  needs: KeyScope,
  onDone?: (site: Site, version: Version) => unknown,
): Promise<void> {
  const link =
    step.model.links.length > 0 && step.random.chance(0.4) ? step.pick(step.model.links) : undefined
  const site = link?.site ?? step.ownedSite()
  const preview = link ? link.preview : step.random.pick([undefined, ...PREVIEWS])
  const version = preview === undefined ? site.live : site.preview(preview, step.now)?.version
  if (!version) return
  if (!link) {
    const call_ = (client: Slipway, slug: string) => call(version, client.review(slug, preview))
    return callAbout(step, `review ${preview}`, site, {
      right: 'publish',
      needs,
      call: call_,
      onDone: () => onDone?.(site, version),
    })
  }
  step.site = site
  const refused = refusalsOfLink(link, step.now)
  if (needs === 'manage' && link.creator.scope !== 'manage') refused.must.push('INSUFFICIENT_SCOPE')
  refused.may.push('RATE_LIMITED')
  const client = step.world.client(step.node, { reviewToken: link.token })
  const done = await step.attempt(`review ${preview} of ${site.slug} by a link`, refused, () =>
    call(version, client.review(site.slug, preview)),
  )
  if (done !== undefined) onDone?.(site, version)
}

async function createKey(step: Step): Promise<void> {
  const person = step.pick(step.model.people)
  const isUsable = (site: Site) => site.roleOf(person) && !site.isGone && !site.isExpired(step.now)
  const site = step.random.chance(0.6) ? step.chooseSite(isUsable) : undefined
  const scope = step.random.pick(['read', 'preview', 'publish', 'manage'] as const)
  const expiresInSeconds = step.random.chance(0.3) ? 3600 : null
  const request = { name: step.model.nextName(), scope, sites: site ? [site.slug] : null, expiresInSeconds }
  const refused = { must: [], may: ['KEY_LIMIT_REACHED', ...suspensionOf(person).must] }
  const made = await step.attempt(`key of ${person.email} ${JSON.stringify(request)}`, refused, () =>
    step.client(person.key).createKey(request),
  )
  if (!made) return
  const expiresAt = expiresInSeconds === null ? FOREVER : step.now + expiresInSeconds * SECOND_MS
  const { apiKey: token, id } = made
  step.model.credentials.push({
    token,
    person,
    scope,
    sites: site ? [site] : null,
    expiresAt,
    hasEnded: false,
    id,
  })
}

/** Reads a site with any credential. */
async function probe(step: Step): Promise<void> {
  const by = step.pick(step.model.credentials)
  const site = step.chooseSite()
  await callAbout(step, `read with a ${by.scope} key of ${by.person.email}`, site, {
    ...{ right: 'read', needs: 'read', by, call: (client: Slipway, slug: string) => client.details(slug) },
    onDone({ files }) {
      if (!site.live) return
      const found = files.map(({ path, hash }) => `${path} ${hash}`).sort()
      const expected = Object.entries(site.live.files).map(([path, content]) => `${path} ${sha256(content)}`)
      if (`${found}` !== `${expected.sort()}`) throw new Error(`${site.slug} has other files`)
    },
  })
}

async function setSuspension(
  { world, notes }: Step,
  subject: Site | Person,
  statement?: { reason: string },
): Promise<void> {
  const { suspensions } = world.operator
  if (subject instanceof Site) await suspensions.changeSite(COMMAND_LINE, subject.slug, statement)
  else await suspensions.changeAccount(COMMAND_LINE, subject.email, statement)
  notes.push(`${statement ? 'suspend' : 'resume'} ${subject instanceof Site ? subject.slug : subject.email}`)
  subject.isSuspended = statement !== undefined
}

async function deleteAccount(step: Step): Promise<void> {
  const { world, model } = step
  const person = step.pick(model.people)
  const { email } = person
  const refused = { must: [], may: ['SIGN_IN_AGAIN', 'ACCOUNT_SUSPENDED'] }
  const done = await step.attempt(`delete ${email}`, refused, () =>
    step.client(person.key).deleteAccount(email),
  )
  if (!done) return
  person.hasLeft = true
  model.people.splice(model.people.indexOf(person), 1)
  for (const key of model.credentials) if (key.person === person) key.hasEnded = true
  for (const site of model.sites) {
    endAccess(model, site, email)
    if (site.owner === person) endSite(step, site)
  }
  // A mailbox receives few codes in an hour.
  world.now += HOUR_MS
  await signIn(world, model, email)
}
