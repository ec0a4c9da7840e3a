import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPrivateUrl } from '../../protocol/private-url.ts'

test('the URL of a service says by its spelling whether it is of a private network', () => {
  const hosts = {
    private: [
      ...['localhost', 'slipway.localhost', '127.0.0.1', '127.9.9.9', '0x7f.1', '10.1.2.3', '172.31.0.1'],
      ...[
        '192.168.1.5',
        '169.254.1.1',
        '[::1]',
        '[fd12::1]',
        '[fe80::1]',
        'nas',
        'nas.',
        'nas.local',
        'NAS.lan',
      ],
      ...['build.internal', 'nas.home.arpa', 'wiki.corp', 'slipway.test'],
      ...['0.0.0.0', '[::]', '[::ffff:192.168.1.1]', '100.64.0.1', '100.127.255.254'],
    ],
    public: [
      'example.com',
      'local.example.com',
      '172.32.0.1',
      '11.0.0.1',
      ...['100.63.0.1', '100.128.0.1', 'test.example.com', 'latest.dev'],
      '[2001:db8::1]',
      '[::ffff:8.8.8.8]',
      'lan.example',
      'my-lan.net',
    ],
  }
  for (const [kind, names] of Object.entries(hosts))
    for (const name of names) assert.equal(isPrivateUrl(`http://${name}:8080/`), kind === 'private', name)
})
