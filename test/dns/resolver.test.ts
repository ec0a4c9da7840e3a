import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { startKnot } from '../tools/knot.ts'
import { requires } from '../tools/part.ts'
import { startUnbound } from '../tools/unbound.ts'

test('the resolver returns current records', requires('knot', 'unbound'), async (t) => {
  await using knot = await startKnot()
  await using unbound = await startUnbound(knot)
  const dns = resolverDns({ servers: [unbound.address] })

  await t.test('aliases are followed and returned in lower case', async () => {
    await knot.set('www.example.test', 'CNAME', 'Shop.EXAMPLE.test.')
    await knot.set('shop.example.test', 'CNAME', 'domains.slipway.test.')
    assert.deepEqual(await dns.cname('WWW.example.test'), {
      values: ['shop.example.test', 'domains.slipway.test'],
    })
    assert.deepEqual(await dns.cname('domains.slipway.test'), { values: [] })
    assert.deepEqual(await dns.cname('no.such.name.test'), { values: [] })
  })

  await t.test('addresses are normalized and sorted', async () => {
    await knot.set('domains.slipway.test', 'A', '192.0.2.7', '192.0.2.10')
    await knot.set('domains.slipway.test', 'AAAA', '2001:0DB8:0:0:0:0:0:1', '::ffff:192.0.2.1')
    const values = ['192.0.2.10', '192.0.2.7', '2001:db8::1', '::ffff:192.0.2.1']
    assert.deepEqual(await dns.addresses('domains.slipway.test'), { values })
    assert.deepEqual(await dns.addresses('www.example.test'), { values }, 'through aliases')
    assert.deepEqual(await dns.addresses('no.such.name.test'), { values: [] })
    await knot.set('text.test', 'TXT', 'only text')
    assert.deepEqual(await dns.addresses('text.test'), { values: [] })
  })

  await t.test('TXT records of many strings are joined', async () => {
    const long = 'key='.padEnd(2000, 'x')
    await knot.set('_slipway.example.test', 'TXT', 'slipway-1234', '', long)
    const { values } = await dns.txt('_slipway.example.test')
    assert.deepEqual([...values].sort(), ['', long, 'slipway-1234'])
    await knot.set('_slipway.example.test', 'TXT', 'slipway-5678')
    assert.deepEqual(await dns.txt('_slipway.example.test'), { values: ['slipway-5678'] })
    await knot.remove('_slipway.example.test')
    assert.deepEqual(await dns.txt('_slipway.example.test'), { values: [] })
  })

  await t.test('a loop or a long chain of aliases is an error', async () => {
    await knot.set('ping.test', 'CNAME', 'pong.test.')
    await knot.set('pong.test', 'CNAME', 'ping.test.')
    assert.deepEqual(await dns.cname('ping.test'), {
      values: ['pong.test'],
      error: 'its CNAME records lead in a circle',
    })
    for (let hop = 0; hop < 9; hop++) await knot.set(`hop${hop}.test`, 'CNAME', `hop${hop + 1}.test.`)
    const chain = await dns.cname('hop0.test')
    assert.equal(chain.values.length, 8)
    assert.equal(chain.error, 'its CNAME records lead through more than 8 names')
    assert.deepEqual((await dns.cname('hop1.test')).error, undefined)
    assert.notEqual((await dns.addresses('ping.test')).error, undefined)
  })

  await t.test('unreachable servers of a zone are an error, not an empty result', async () => {
    await knot.set('lame.test', 'NS', 'ns.lame.test.')
    await knot.set('ns.lame.test', 'A', '127.0.0.1')
    const { values, error } = await resolverDns({ servers: [unbound.address], timeoutMs: 1500 }).txt(
      'x.lame.test',
    )
    assert.deepEqual(values, [])
    assert.match(error!, /x\.lame\.test/)
  })
})
