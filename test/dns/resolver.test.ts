import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resolverDns } from '../../server/domains/dns/resolver.ts'
import { PATIENT } from '../support/patient.ts'
import { startKnot } from '../tools/knot.ts'
import { requires } from '../tools/part.ts'
import { startUnbound } from '../tools/unbound.ts'

test('the resolver returns current records', requires('knot', 'unbound'), async (t) => {
  await using knot = await startKnot()
  await using unbound = await startUnbound(knot)
  const dns = resolverDns({ servers: [unbound.address], timeoutMs: PATIENT.dns })

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
})
