import assert from 'node:assert/strict'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { openForOperator } from '../../server/app.ts'
import type { BlobLocation } from '../../server/blobs/blobs.ts'
import type { ReserveSize } from '../../server/blobs/disk-reserve.ts'
import { readConfig } from '../../server/config/settings.ts'
import { UNLESS } from '../../server/domains/schedule.ts'
import { sweeps } from '../../server/jobs/jobs.ts'
import { runOnce } from '../../server/jobs/scheduler.ts'
import { makeLog } from '../../server/lib/log.ts'
import type { Store } from '../../server/store/store.ts'
import { keep, listObjects } from '../blobs/bytes.ts'
import {
  accountRow,
  certificateRow,
  codeRow,
  domainRow,
  sessionRow,
  siteRow,
  versionRow,
} from '../store/rows.ts'
import { withMethods } from '../store/with-methods.ts'
import { PATIENT } from '../support/patient.ts'
import { silentLog } from '../support/silent-log.ts'
import { type ReadLetter, readLetter } from '../tools/letter.ts'
import { memoryFolder } from '../tools/memory-folder.ts'

const DAY_MS = 86_400_000

/** Seconds that a blob without references is kept. */
const GRACE_SECONDS = 600

/** A data folder with its store and blobs, and a clock that starts at `start`. */
async function emptyFolder(start: number) {
  const clock = { now: start }
  const stack = new AsyncDisposableStack()
  const { path: data } = stack.use(await memoryFolder())
  const config = readConfig({ SLIPWAY_DATA: data, SLIPWAY_BLOB_GRACE: `${GRACE_SECONDS}s` })
  const context = stack.use(
    await openForOperator(config, {
      log: silentLog,
      version: 'test',
      deadlines: PATIENT,
      clock: () => clock.now,
    }),
  )
  const sweep = (name: string) => runOnce(sweeps.find((one) => one.name === name)!, context)
  const { store, blobs } = context
  return { data, store, blobs, clock, context, sweep, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('an abandoned site is deleted behind any number of older drafts', async () => {
  await using folder = await emptyFolder(3 * DAY_MS)
  await folder.store.write('durable', {}, async (tx) => {
    for (let number = 0; number < 150; number++) {
      const slug = `draft-${number}`
      await tx.sites.insert(siteRow(slug, { createdAt: number, isFinalized: true }))
      await tx.rows.insert('versions', versionRow(`${number}`, slug, { state: 'ready', createdAt: number }))
    }
    await tx.sites.insert(siteRow('staged-again', { createdAt: 500 }))
    await tx.rows.insert(
      'versions',
      versionRow('new', 'staged-again', { state: 'pending', createdAt: 3 * DAY_MS - 1 }),
    )
    await tx.sites.insert(siteRow('abandoned', { createdAt: 1000 }))
    await tx.rows.insert('versions', versionRow('old', 'abandoned', { state: 'pending', createdAt: 1000 }))
  })
  await folder.sweep('abandoned')
  const deletionReason = async (slug: string) => (await folder.store.read.sites.find(slug))?.deletionReason
  assert.equal(await deletionReason('abandoned'), 'abandoned')
  assert.equal(await deletionReason('draft-149'), null)
  assert.equal(await deletionReason('staged-again'), null)
  assert.equal(await folder.sweep('abandoned'), 0)
})

test('codes, sessions, invitations and others are deleted once they have expired', async () => {
  await using folder = await emptyFolder(1000)
  await folder.store.write('durable', {}, async ({ rows }) => {
    for (const expiresAt of [1000, 1001]) {
      const name = `until ${expiresAt}`
      const times = { createdAt: 1, expiresAt }
      await rows.insert('sign_in_codes', codeRow(name, { expiresAt }))
      await rows.insert('sessions', sessionRow(name, { expiresAt }))
      await rows.insert('invitations', { ...times, email: name, invitedBy: null })
      await rows.insert('used_tokens', { tokenHash: name, expiresAt })
      await rows.insert('review_links', {
        ...{ ...times, id: name, slug: 'a-site', previewName: '', tokenHash: name },
        ...{ audience: 'anyone', createdBy: 'ann', keyHash: null },
      })
      await rows.insert('device_sign_ins', {
        ...{ ...times, deviceHash: name, userCodeHash: name, program: 'p', machine: 'm', intervalMs: 1 },
        ...{
          polledAt: null,
          state: 'pending',
          accountId: null,
          allowedBy: null,
          network: '',
          scope: 'publish',
        },
      })
    }
  })
  assert.equal(await folder.sweep('sign-ins'), 6)
  assert.equal(await folder.sweep('sign-ins'), 0)
  folder.clock.now++
  assert.equal(await folder.sweep('sign-ins'), 6)
})

const failingDeletions = {
  'expired-sites': { site: { expiresAt: 1000 } },
  trash: { site: { deletedAt: 500, deletionReason: 'deleted', keptUntil: 1000 } },
  abandoned: { version: { state: 'pending' } },
  'old-versions': { site: { liveVersionId: 'live' }, version: { state: 'ready' } },
} as const

for (const [name, rows] of Object.entries(failingDeletions)) {
  test(`the sweep ${name} completes for other sites when one fails`, async () => {
    await using folder = await emptyFolder(300 * DAY_MS)
    const { context, store } = folder
    const stuck = Array.from({ length: 40 }, (_, number) => `stuck-${number}`)
    await store.write('durable', {}, async (tx) => {
      for (const [createdAt, slug] of [...stuck, 'other'].entries()) {
        await tx.sites.insert(siteRow(slug, { createdAt, ...('site' in rows && rows.site) }))
        if ('version' in rows)
          await tx.rows.insert('versions', versionRow(`of-${slug}`, slug, { createdAt, ...rows.version }))
      }
    })
    const broken: Store = {
      ...store,
      write: (durability, scope, work) => {
        if (stuck.some((slug) => [scope.site].flat().includes(slug))) throw new Error('this site is broken')
        return store.write(durability, scope, work)
      },
    }
    const sweep = sweeps.find((one) => one.name === name)!
    await assert.rejects(sweep.run({ ...context, store: broken }, { since: 0 }), /this site is broken/)
    assert.deepEqual(await store.read.versions.bySlug('other'), [])
    const { deletedAt, keptUntil } = (await store.read.sites.find('other'))!
    assert.deepEqual([deletedAt, keptUntil], [name === 'old-versions' ? null : folder.clock.now, null])
    await folder.sweep(name)
    assert.deepEqual(await store.read.versions.bySlug('stuck-0'), [])
    assert.equal(await folder.sweep(name), 0)
  })
}

test('sweeps of all sites continue over thousands of sites, with those of no plan', async () => {
  await using folder = await emptyFolder(300 * DAY_MS)
  const { store } = folder
  const owners = new Map<number, string | null>([
    [2097, 'of a removed plan'],
    [2098, null],
  ])
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('ann'))
    await tx.rows.insert('accounts', accountRow('of a removed plan', { plan: 'removed' }))
    for (let number = 0; number < 2100; number++) {
      const [slug, owner] = [`site-${number}`, owners.get(number)]
      const ownerId = owner === undefined ? 'ann' : owner
      await tx.sites.insert(siteRow(slug, { ownerId, updatedAt: number, createdAt: number }))
      for (let version = 0; number >= 2097 && version < 12; version++) {
        const times = { publishedAt: version, lastLiveAt: version }
        const published = versionRow(`v${version} of ${slug}`, slug, times)
        await tx.rows.insert('versions', { ...published, contentHash: `${version}` })
      }
    }
    await tx.usage.add('account:ann', { bytes: 0, sites: 2098 })
    await tx.usage.add('account:of a removed plan', { bytes: 0, sites: 1 })
  })
  assert.equal(await folder.sweep('usage'), 0)
  assert.equal(await folder.sweep('old-versions'), 6)
})

for (const [name, rows, claimTokenHash] of [
  ['expired-sites', { expiresAt: 1000 }, 'a token'],
  ['trash', failingDeletions.trash.site, null],
] as const)
  test(`the sweep ${name} deletes what the row of a site has about its network, secrets and reviews`, async () => {
    await using folder = await emptyFolder(300 * DAY_MS)
    const { store } = folder
    const known = { network: 'a network', allowedSecrets: ['a secret'], reviewKey: 'a key' }
    await store.write('durable', {}, (tx) =>
      tx.sites.insert(siteRow('deleted', { ...known, claimTokenHash: 'a token', ...rows })),
    )
    await folder.sweep(name)
    const { network, allowedSecrets, reviewKey, ...site } = (await store.read.sites.find('deleted'))!
    assert.deepEqual([network, allowedSecrets, reviewKey], [null, [], null])
    assert.equal(site.claimTokenHash, claimTokenHash)
    assert.equal((await store.read.usage.find('network:a network')).sites, -1)
  })

for (const name of ['expired-sites', 'trash'] as const)
  for (const who of ['site', 'owner'])
    test(`the sweep ${name} keeps a site while its ${who} is suspended, for at most 30 days`, async () => {
      await using folder = await emptyFolder(300 * DAY_MS)
      const { clock, store, sweep } = folder
      const suspension = { reason: 'phishing', publicReason: null, note: null, since: clock.now }
      await store.write('durable', {}, async (tx) => {
        await tx.rows.insert('accounts', accountRow('ann'))
        if (who === 'owner') await tx.accounts.update('ann', { suspension })
        const own = { ownerId: 'ann', ...(who === 'site' && { suspension }) }
        await tx.sites.insert(siteRow('evidence', { ...own, ...failingDeletions[name].site }))
      })
      clock.now += 30 * DAY_MS - 1
      assert.equal(await sweep(name), 0)
      clock.now += 1
      assert.equal(await sweep(name), 1)
    })

test('an abandoned version of a site that is renamed before its deletion leaves no references', async () => {
  await using folder = await emptyFolder(3 * DAY_MS)
  const { blobs, context, store } = folder
  const blob = await keep(blobs, Buffer.from('abandoned'))
  const files = [{ path: 'index.html', contentType: 'text/html', size: blob.size, hash: blob.hash }]
  await store.write('durable', {}, async (tx) => {
    await tx.sites.insert(siteRow('before', { liveVersionId: 'live' }))
    await tx.rows.insert('versions', versionRow('live', 'before', { state: 'ready' }))
    await tx.rows.insert(
      'versions',
      versionRow('old', 'before', { state: 'pending', createdAt: 1000, files }),
    )
    await tx.blobs.add('before', [blob])
  })
  const found = await store.read.versions.header('old')
  await store.write('durable', {}, (tx) => tx.sites.rename('before', 'after', 2000))
  const versions = withMethods(store.read.versions, { header: async () => found })
  const before: Store = { ...store, read: { ...store.read, versions } }
  const sweep = sweeps.find(({ name }) => name === 'abandoned')!
  assert.equal(await sweep.run({ ...context, store: before }, { since: 0 }), 1)
  assert.equal(await store.read.versions.header('old'), undefined)
  assert.deepEqual(await store.read.blobs.referencingSites([blob.hash], '', 10), [])
})

test('a blob without references is deleted after the grace period, not before', async () => {
  await using folder = await emptyFolder(DAY_MS)
  const { blobs, clock, store, sweep } = folder
  const bytes = Buffer.from('without references')
  const blob = await keep(blobs, bytes)
  await store.write('relaxed', {}, async (tx) => {
    await tx.blobs.add('a-site', [blob])
    await tx.blobs.removeReferences('a-site', [blob.hash], clock.now)
  })
  clock.now += GRACE_SECONDS * 1000 - 1
  await sweep('blobs')
  assert.deepEqual(await blobs.bytes(blob), bytes)
  clock.now += 1
  await sweep('blobs')
  assert.deepEqual(await listObjects(blobs), [])
})

test('a database that does not know most of the stored files deletes none of them, until the sweep is named', async () => {
  await using folder = await emptyFolder(DAY_MS)
  const { blobs, clock, context, store, sweep } = folder
  const files = await Promise.all(
    Array.from({ length: 5 }, (_, number) => keep(blobs, Buffer.from(`${number}`))),
  )
  clock.now += 10 * DAY_MS
  const unnamed = sweeps.find(({ name }) => name === 'unnamed')!
  const runScheduled = () => unnamed.run(context, { since: clock.now - DAY_MS })
  const add = (from: number, to: number) =>
    store.write('relaxed', {}, (tx) => tx.blobs.add('a-site', files.slice(from, to)))
  assert.equal(await runScheduled(), 0)
  await add(0, 2)
  assert.equal(await runScheduled(), 0)
  assert.equal((await store.read.blobs.listDiscarded(clock.now + DAY_MS, 10)).length, 0)
  await add(2, 3)
  assert.equal(await runScheduled(), 2)
  const more = await Promise.all(
    Array.from({ length: 9 }, (_, number) => keep(blobs, Buffer.from(`more ${number}`))),
  )
  clock.now += 10 * DAY_MS
  assert.equal(await runScheduled(), 0)
  assert.equal(await runOnce(unnamed, context, false), 0)
  // Where a run that was stopped would continue.
  await store.write('relaxed', {}, ({ jobCursors }) => jobCursors.set('stray objects', 'g'))
  assert.equal(await sweep('unnamed'), more.length)
})

test('every stored file is compared with its hash once in the time that the daily share takes', async () => {
  await using folder = await emptyFolder(400 * DAY_MS)
  const { blobs, clock, context, store, data } = folder
  const contents = Array.from({ length: 200 }, (_, number) => Buffer.from(`file ${number}`))
  const files = await Promise.all(contents.map((bytes) => keep(blobs, bytes)))
  const [first] = await blobs.putTogether([Buffer.from('encoded')])
  await store.write('relaxed', {}, async (tx) => {
    for (const slug of ['bakery', 'cafe']) await tx.sites.insert(siteRow(slug))
    await tx.blobs.add('bakery', files)
    await tx.blobs.addReferences('cafe', [files[1]!.hash])
    await tx.sites.rename('cafe', 'bistro', 1)
    await tx.blobs.recordEncodings([{ hash: files[2]!.hash, br: first!, zstd: null, gzip: null }])
  })
  const place = ({ object }: { object: string }) => join(data, 'blobs', object.slice(0, 2), object)
  await writeFile(place(files[1]!), 'File 1')
  await writeFile(place(first!), 'Encoded')
  await rm(place(files[3]!))
  const verification = sweeps.find(({ name }) => name === 'verification')!
  const verified: string[] = []
  const logged: { message: string; object: string; sites: string[] }[] = []
  const options = {
    ...context,
    log: makeLog({ level: 'error', text: false, write: (line) => void logged.push(JSON.parse(line)) }),
    blobs: {
      ...blobs,
      verify(location: BlobLocation) {
        verified.push(location.object)
        return blobs.verify(location)
      },
    },
  }
  const withDaily = (verifyDaily: ReserveSize) => ({ ...options, config: { ...options.config, verifyDaily } })
  for (const [round, verifyDaily] of [{ percent: 10 }, { bytes: contents.join('').length / 10 }].entries()) {
    for (let runs = 0; runs < 10.5 * 144; runs++, clock.now += 600_000)
      await verification.run(withDaily(verifyDaily), { since: clock.now - 600_000 })
    const counts = Object.values(Object.groupBy(verified.splice(0), (object) => object))
    assert.equal(counts.length, 201 - round)
    assert.ok(counts.every((objects) => objects!.length <= 2))
    assert.ok(counts.filter((objects) => objects!.length === 1).length > 180, 'a tenth is read again')
    const lost = logged.splice(0).map(({ message, object, sites }) => [message, object, sites])
    for (const expected of [
      ['a stored file is damaged', files[1]!.object, ['bakery', 'bistro']],
      ['a stored file is missing', files[3]!.object, ['bakery']],
      ...(round === 0 ? [['a stored file is damaged', first!.object, ['bakery']]] : []),
    ])
      assert.ok(lost.some((one) => isDeepStrictEqual(one, expected)))
  }
  const counter = context.telemetry.metrics.counter('slipway_damaged_files_total', {
    found: 'sweep',
  })
  assert.ok(counter.value >= 5)
  assert.deepEqual(await store.read.blobs.listDiscarded(0, 10), [first!.object], 'the file is served without')
  // A share that the smallest file exceeds by months does not look like a clock that was set.
  for (const [passedMs, isDue] of [
    [10 * DAY_MS, true],
    [600_000, false],
    [600_000, false],
  ] as const) {
    clock.now += passedMs
    await verification.run(withDaily({ bytes: 1 }), { since: 1 })
    assert.equal(verified.splice(0).length > 0, isDue)
  }
  const busy = withDaily({ percent: 90 })
  // A clock that was set back does not stop it, and a run by hand reads everything.
  clock.now -= 300 * DAY_MS
  assert.equal(await verification.run(busy, { since: 1 }), 0)
  assert.ok(verified.splice(0).length > 0)
  assert.equal(await runOnce(verification, withDaily({ bytes: 0 })), 2)
  assert.equal(verified.splice(0).length, 200)
  // Refused objects with readable ones between them end no run; a storage that fails does.
  const byHash = files.slice(4).sort((one, other) => (one.hash < other.hash ? -1 : 1))
  const refused = new Set(byHash.filter((_, at) => at % 12 === 0).map(({ object }) => object))
  const refusing = withDaily({ bytes: 0 })
  refusing.blobs = {
    ...blobs,
    async verify(location: BlobLocation) {
      verified.push(location.object)
      if (refused.has(location.object) || refused.size === 0) throw new Error('refused')
      return blobs.verify(location)
    },
  }
  const findUnreadable = () => logged.find(({ message }) => message === 'a stored file cannot be read')
  await assert.rejects(runOnce(verification, refusing), /refused/)
  assert.equal(verified.splice(0).length, 200 + refused.size)
  assert.deepEqual(findUnreadable()?.sites, ['bakery'])
  // On its schedule the next run counts what it cannot read again.
  const runNext = async (from = refusing) => {
    clock.now += DAY_MS
    const counted = counter.value
    await verification.run(
      { ...from, config: { ...from.config, verifyDaily: { percent: 1e5 } } },
      { since: 1 },
    )
    return counter.value - counted
  }
  await runNext(options)
  await assert.rejects(runNext(), /refused/)
  logged.length = 0
  assert.equal(await runNext(), refused.size + 2, 'they and those that are lost')
  const unreadable = findUnreadable()
  assert.deepEqual([refused.has(unreadable!.object), unreadable!.sites], [true, ['bakery']])
  await runNext(options)
  verified.length = 0
  clock.now += 600_000
  await verification.run(withDaily({ percent: 0.001 }), { since: 1 })
  assert.ok(verified.length < 3, 'those that could be read are not read again beside the share')
  verified.length = 0
  refused.clear()
  await assert.rejects(runOnce(verification, refusing), /refused/)
  assert.equal(verified.length, 10)
})

const HOUR_MS = 3_600_000
const NOW = 100 * DAY_MS

/** Rows of accounts, sites, domains and certificates of which some are worth an email. */
async function addEvents({ store }: Awaited<ReturnType<typeof emptyFolder>>): Promise<void> {
  const old = { ownerId: 'ann', updatedAt: NOW - DAY_MS }
  const active = { accountId: 'ann', status: 'active', verifiedAt: NOW - 2 * DAY_MS } as const
  const certificate = { problem: 'The CA says <no>', notAfter: NOW + 9 * DAY_MS, failures: 3 }
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('ann'))
    await tx.rows.insert('accounts', accountRow('bob', { reminders: false }))
    for (const [slug, change] of Object.entries({
      soon: { ...old, expiresAt: NOW + 6 * HOUR_MS, title: 'Bakery\n<b>' },
      later: { ...old, expiresAt: NOW + 6 * HOUR_MS + 1 },
      'changed-now': { ...old, expiresAt: NOW + HOUR_MS, updatedAt: NOW - HOUR_MS },
      'without-owner': { ...old, ownerId: null, expiresAt: NOW + HOUR_MS },
      'without-reminders': { ...old, ownerId: 'bob', expiresAt: NOW + HOUR_MS },
      deleted: { ...old, expiresAt: NOW + HOUR_MS, deletedAt: NOW },
    }))
      await tx.sites.insert(siteRow(slug, change))
    for (const [name, change] of Object.entries({
      'gone.example': { failingSince: NOW - HOUR_MS, reason: `no CNAME record${UNLESS}then` },
      'blip.example': { failingSince: NOW - HOUR_MS + 1 },
      'fine.example': {},
      'unrenewed.example': {},
    }))
      await tx.domains.insert(domainRow(name, { ...active, slug: 'soon', ...change }))
    for (const [name, change] of Object.entries({
      'unrenewed.example': { renewAt: NOW - DAY_MS },
      'fine.example': { renewAt: NOW - DAY_MS + HOUR_MS },
      'without-domain.example': { renewAt: NOW - DAY_MS },
    }))
      await tx.rows.insert('certificates', certificateRow(name, { ...certificate, ...change }))
  })
}

async function sentEmails(data: string): Promise<ReadLetter[]> {
  const files = await readdir(join(data, 'mail')).catch(() => [])
  return Promise.all(files.map(async (name) => readLetter(await readFile(join(data, 'mail', name), 'utf8'))))
}

test('an owner gets one email about each expiring site, failing domain and failing certificate', async () => {
  await using folder = await emptyFolder(NOW)
  await addEvents(folder)
  await Promise.all([folder.sweep('emails'), folder.sweep('emails')])
  const first = await sentEmails(folder.data)
  assert.deepEqual(first.map(({ subject }) => subject.split(' ')[0]).sort(), [
    'Bakery',
    'gone.example',
    'unrenewed.example',
  ])
  folder.clock.now += HOUR_MS / 2
  await folder.sweep('emails')
  const emails = await sentEmails(folder.data)
  const about = (subject: RegExp) => {
    const { text, html } = emails.find((one) => subject.test(one.subject))!
    return { text: text.replaceAll(/\s+/g, ' '), html }
  }
  assert.deepEqual(emails.map(({ subject }) => subject).sort(), [
    'Bakery <b> expires in 6 hours',
    'blip.example no longer points to your site',
    'gone.example no longer points to your site',
    'later expires in 6 hours',
    'unrenewed.example has a problem with its certificate',
  ])
  assert.ok(emails.every(({ to }) => to === 'ann@example.test'))
  const { text, html } = about(/^Bakery/)
  assert.match(html, /Bakery\s&#60;b&#62;/)
  assert.match(text, /expires on 1970-04-11 06:00:00 UTC/)
  assert.match(text, /http:\/\/localhost:8080\/sites\/soon\/settings/)
  assert.match(text, /Turn these emails off/)
  assert.match(about(/^gone/).text, /no CNAME record\. Correct the records .* by 1970-04-11 23:00:00 UTC/)
  assert.match(about(/^unrenewed/).text, /valid until 1970-04-20.*Last error: The CA says <no>\./)
  assert.match(about(/^unrenewed/).html, /The CA says &#60;no&#62;/)
})

test('each activation of a domain gets an email about its certificate, also that of another owner', async () => {
  await using folder = await emptyFolder(NOW)
  await addEvents(folder)
  const name = 'unrenewed.example'
  const { store, data, sweep } = folder
  const recipients = async () => {
    await sweep('emails')
    const emails = await sentEmails(data)
    return emails.filter(({ subject }) => subject.startsWith(name)).map(({ to }) => to)
  }
  assert.deepEqual(await recipients(), ['ann@example.test'])
  const row = (await store.read.domains.active(name))!
  await store.write('durable', {}, (tx) => tx.domains.update(row, { verifiedAt: row.verifiedAt! + 1 }))
  assert.deepEqual(await recipients(), ['ann@example.test', 'ann@example.test'])
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('cid'))
    await tx.rows.remove('domains', { accountId: 'ann', domain: name })
    await tx.domains.insert({ ...row, accountId: 'cid' })
  })
  assert.deepEqual((await recipients()).sort(), ['ann@example.test', 'ann@example.test', 'cid@example.test'])
})

test('an email that cannot be sent is tried ten times within a day, at growing intervals', async () => {
  await using folder = await emptyFolder(NOW)
  await writeFile(join(folder.data, 'mail'), 'a file where the folder should be')
  const { store, clock, sweep } = folder
  const event = { kind: 'site-removed', slug: 'removed', title: null, reason: 'a reason' } as const
  const id = 'site-removed removed'
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('ann'))
    await tx.notices.add({ id, accountId: 'ann', event, createdAt: NOW })
  })
  const hours: number[] = []
  for (let quarter = 0; quarter < 120; quarter++) {
    const before = (await store.read.notices.find(id))?.attempts
    await sweep('emails')
    if ((await store.read.notices.find(id))?.attempts !== before) hours.push(quarter / 4)
    clock.now += HOUR_MS / 4
  }
  assert.deepEqual(hours, [0, 0.25, 0.75, 1.75, 3.75, 7.75, 11.75, 15.75, 19.75, 23.75])
  await rm(join(folder.data, 'mail'))
  await sweep('emails')
  assert.deepEqual(await sentEmails(folder.data), [])
})

test('an owner gets the reason of each action of an operator, at most five emails an hour, and none about an expiry that has passed', async () => {
  await using folder = await emptyFolder(NOW)
  const { store, clock, sweep, data } = folder
  await store.write('durable', {}, async (tx) => {
    await tx.rows.insert('accounts', accountRow('ann'))
    for (let number = 0; number < 12; number++) {
      const event = { kind: 'site-removed', slug: `site-${number}`, title: null, reason: 'a reason' } as const
      await tx.notices.add({ id: `site-removed ${number}`, accountId: 'ann', event, createdAt: NOW })
    }
    const outdated = { kind: 'site-expires', slug: 'expired', title: null, expiresAt: NOW } as const
    await tx.notices.add({ id: 'site-expires expired', accountId: 'ann', event: outdated, createdAt: NOW })
  })
  const sent: number[] = []
  for (let hour = 0; hour < 4; hour++) {
    for (let run = 0; run < 2; run++) await sweep('emails')
    sent.push((await sentEmails(data)).length)
    clock.now += HOUR_MS
  }
  assert.deepEqual(sent, [5, 10, 12, 12])
})

test('emails of one account that wait for its limit do not delay those of another', async () => {
  await using folder = await emptyFolder(NOW)
  const { store, clock, sweep, data } = folder
  const add = (accountId: string, number: number) =>
    store.write('durable', {}, ({ notices }) => {
      const event = { kind: 'site-removed', slug: 'x', title: null, reason: 'a reason' } as const
      const id = `site-removed ${accountId} ${number}`
      return notices.add({ id, accountId, event, createdAt: clock.now })
    })
  for (const id of ['ann', 'ben'])
    await store.write('durable', {}, ({ rows }) => rows.insert('accounts', accountRow(id)))
  for (let number = 0; number < 250; number++) await add('ann', number)
  for (let hour = 1; hour <= 2; hour++) {
    await add('ben', hour)
    for (let run = 0; run < 2; run++) await sweep('emails')
    const sent = (await sentEmails(data)).filter(({ to }) => to === 'ben@example.test')
    assert.equal(sent.length, hour)
    clock.now += HOUR_MS
  }
})
