import assert from 'node:assert/strict'
import { Resolver } from 'node:dns/promises'
import { test } from 'node:test'
import { startKnot } from './knot.ts'
import { requires } from './part.ts'
import { startUnbound } from './unbound.ts'

test('a resolver returns changes of the zone at once', requires('knot', 'unbound'), async () => {
  await using knot = await startKnot()
  await using unbound = await startUnbound(knot)
  const resolver = new Resolver()
  resolver.setServers([unbound.address])
  await knot.set('www.example.test', 'CNAME', 'domains.slipway.test.')
  assert.deepEqual(await resolver.resolveCname('www.example.test'), ['domains.slipway.test'])
  await knot.set('www.example.test', 'CNAME', 'else.where.test.')
  assert.deepEqual(await resolver.resolveCname('www.example.test'), ['else.where.test'])
  await knot.remove('www.example.test')
  await assert.rejects(resolver.resolveCname('www.example.test'), { code: 'ENOTFOUND' })

  await knot.set('a.test', 'TXT', 'one "quoted" \\ word', 'x'.repeat(300))
  await knot.add('a.test', 'A', '192.0.2.1', '192.0.2.2')
  const texts = (await resolver.resolveTxt('a.test')).map((strings) => strings.join(''))
  assert.deepEqual(texts.sort(), ['one "quoted" \\ word', 'x'.repeat(300)])
  assert.deepEqual((await resolver.resolve4('a.test')).sort(), ['192.0.2.1', '192.0.2.2'])
  await knot.remove('a.test', 'TXT')
  await assert.rejects(resolver.resolveTxt('a.test'), { code: 'ENODATA' })
})
