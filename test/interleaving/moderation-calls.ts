import { COMMAND_LINE } from '../../server/store/tables/administration.ts'
import { type CallSpec, sweepCalls } from './call.ts'
import { ANN, BLOCKED, FILE } from './fixture.ts'

const STATEMENT = { reason: 'a reason' }
const BLOCK = { kind: 'hash', value: FILE.hash, reason: 'a reason' } as const

/** What visitors report, and what operators do about it. */
export const MODERATION_CALLS: Record<string, CallSpec> = {
  'report a site': {
    changes: ['reports'],
    reads: ['bakery'],
    isDivisible: true,
    run: ({ reports }) =>
      reports.add({ url: 'https://bakery.sites.test/', reason: 'phishing' }, { address: '192.0.2.9' }),
  },
  'dismiss reports': {
    changes: ['reports'],
    reads: ['bakery'],
    run: ({ reports }) => reports.decide(COMMAND_LINE, 'bakery', 'dismissed'),
  },
  'suspend a site': {
    changes: ['bakery', 'reports', 'notices'],
    run: ({ suspensions }) => suspensions.changeSite(COMMAND_LINE, 'bakery', STATEMENT),
  },
  'resume a site': {
    changes: ['suspended', 'notices'],
    run: ({ suspensions }) => suspensions.changeSite(COMMAND_LINE, 'suspended'),
  },
  'suspend an account': {
    changes: ['ann', 'notices', 'reports'],
    isDivisible: true,
    async run({ suspensions }) {
      await suspensions.changeAccount(COMMAND_LINE, ANN.id, STATEMENT)
    },
  },
  'suspend an account and resume it': {
    changes: ['ann', 'notices', 'reports'],
    isDivisible: true,
    async run({ suspensions }) {
      await suspensions.changeAccount(COMMAND_LINE, ANN.id, STATEMENT)
      await suspensions.changeAccount(COMMAND_LINE, ANN.id)
    },
  },
  'block the blocked file for longer': {
    changes: ['blocks'],
    isDivisible: true,
    async run({ blocks }) {
      await blocks.add(COMMAND_LINE, { ...BLOCK, value: BLOCKED, seconds: 3600 })
    },
  },
  'delete a site as an operator': {
    changes: ['bakery', 'shop.test', 'new.test', 'blobs', 'usage', 'reports', 'notices'],
    run: ({ removals }) => removals.deleteSite(COMMAND_LINE, 'bakery', 'a reason'),
  },
  'release a domain': {
    changes: ['domains of ann', 'shop.test', 'notices'],
    run: ({ removals }) => removals.releaseDomain(COMMAND_LINE, 'shop.test', 'a reason'),
  },
  'delete an account as an operator': {
    changes: [
      ...(['ann', 'keys', 'trusts', 'domains of ann', 'bakery', 'cafe', 'trashed'] as const),
      ...(['notices', 'reports', 'administrators'] as const),
    ],
    isDivisible: true,
    async run({ removals }) {
      await removals.deleteAccount(COMMAND_LINE, ANN.id, 'a reason')
    },
  },
  'block a file': {
    changes: ['blocks'],
    isDivisible: true,
    async run({ blocks }) {
      await blocks.add(COMMAND_LINE, BLOCK)
    },
  },
  'block a network': {
    changes: ['blocks'],
    async run({ blocks }) {
      await blocks.add(COMMAND_LINE, { kind: 'network', value: '203.0.113.0/24', reason: 'a reason' })
    },
  },
  'unblock a file': {
    changes: ['blocks'],
    isDivisible: true,
    run: ({ blocks }) => blocks.remove(COMMAND_LINE, { kind: 'hash', value: BLOCKED }),
  },
  ...sweepCalls({
    'expired-blocks': ['blocks'],
    reports: ['reports'],
    scans: ['scans'],
  }),
}
