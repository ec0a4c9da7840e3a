import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { HOUR_MS } from '../../server/lib/time.ts'
import { sha256 } from '../api/content.ts'
import type { EdgeFixture } from './fixture.ts'

/**
 * Visits that nothing of which is cached; `record` records the statements of an engine with a parameter among `names`
 * until the end of a test.
 */
export async function assertColdVisits(
  edge: EdgeFixture,
  record: (t: TestContext, names: ReadonlySet<unknown>) => readonly string[],
  t: TestContext,
): Promise<void> {
  const contents = { 'index.html': '<title>x</title>', 'a.txt': 'a' }
  const encoded = { 'a.txt': { gzip: 'zipped' } }
  const slug = await edge.publish(contents, {}, { encoded })
  const before = await edge.createVersion(slug, { 'old.txt': 'old' })
  const live = await edge.createVersion(slug, contents, { encoded })
  const draft = await edge.createVersion(slug, { 'draft.txt': 'draft' }, { live: false })
  const [domain, www] = ['cold.example.org', 'www.cold.example.org']
  await edge.addDomain(domain, slug, { accountId: 'an account' })
  await edge.addDomain(www, slug, { accountId: 'an account', primaryDomain: domain })
  const { serving } = edge.store.read
  const end = edge.clock.now + HOUR_MS
  for (const [now, path] of [[end - 1, 'old.txt'] as const, [end] as const]) {
    const found = await serving.findSite(slug, { now, withLive: true })
    assert.equal(found?.formerFiles?.[0]?.path, path, 'former files, within their hour only')
  }
  const unknown = 'unknown-and-cold.example.org'
  const statements = record(t, new Set([slug, live, before, draft, domain, www, unknown, sha256('a')]))
  const host = edge.host(slug)
  const visits: [string, string, string, number][] = [
    ['a site', host, '/a.txt', 1],
    ['a former file', host, '/old.txt', 1],
    ['a version', edge.host(`${before}--${slug}`), '/old.txt', 1],
    ['a draft', edge.host(`${draft}--${slug}`), '/draft.txt', 1],
    ['a domain', domain, '/a.txt', 1],
    ['a domain that redirects to another one', www, '/a.txt', 2],
    ['a host that does not exist', unknown, '/', 1],
    ['a version that does not exist', edge.host(`${'0'.repeat(26)}--${slug}`), '/', 1],
  ]
  for (const [title, name, path, expected] of visits) {
    edge.forgetAll()
    const first = statements.length
    const { status } = await edge.request(name, path)
    assert.equal(statements.length - first, expected, `${title}: ${statements.slice(first).join('\n')}`)
    assert.equal(status, title.includes('not exist') ? 404 : title.includes('redirects') ? 308 : 200, title)
  }
  await edge.get(slug, '/a.txt')
  const warm = statements.length
  assert.equal((await edge.get(`${draft}--${slug}`, '/draft.txt')).status, 200)
  assert.equal(statements.length - warm, 1, 'a draft of a cached site')
  assert.ok(!statements.at(-1)!.includes('1 = 1'), 'the live version is not read again')
}
