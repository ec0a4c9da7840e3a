import { LIST_ORDERS } from '../../../../protocol/api/admin/lists.ts'
import { accountExceptions } from '../account.ts'
import { bool, integer, list, named, nullable, object, type Schema, text, time } from '../schema.ts'
import { adminSuspension } from './moderation.ts'
import { page, pageQuery } from './page.ts'

const search = {
  q: text(
    'The beginning of a slug, a title, a domain or an email address, in any case. Finds the first matches, in one page',
    { maxLength: 254 },
  ),
}
export const listQuery = object(
  {},
  {
    ...pageQuery,
    ...search,
    sort: text('The newest (`age`), largest or most visited first; default age', { enum: LIST_ORDERS }),
  },
)
export const certificateQuery = object({}, { ...pageQuery, ...search })

const counted = {
  bytes: integer('Bytes of the live versions, as counted in the last minutes'),
  visits: integer('Requests of the last 30 days, as counted in the last minutes'),
}
const owner: Schema = {
  ...object({ id: text('Identifier of the account'), email: text('Email address') }),
  type: ['object', 'null'],
  description: 'The account it belongs to; null for an anonymous site',
}
const slug = text('Slug')
const createdAt = time('Creation')
const problem = nullable(text('What is wrong; null if nothing is'))
const failures = integer('Failures in a row')

export const sitePage = page(
  'AdminSites',
  named(
    'AdminSite',
    object({
      slug,
      siteUrl: text('URL'),
      title: nullable(text('Title')),
      owner,
      status: text('`pending` before the first finalize', { enum: ['active', 'pending', 'expired'] }),
      hasPassword: bool('Whether visitors need a password'),
      createdAt,
      updatedAt: time('Last change'),
      expiresAt: nullable(time('When it expires; null if it does not')),
      suspension: adminSuspension,
      isOwnerSuspended: bool('Whether the account it belongs to is suspended'),
      ...counted,
    }),
  ),
  'In the order of `sort`',
)

export const accountPage = page(
  'AdminAccounts',
  named(
    'AdminAccount',
    object({
      id: text('Identifier'),
      email: text('Email address'),
      plan: text('Plan'),
      limits: accountExceptions,
      suspension: adminSuspension,
      administrator: bool('Whether it administers the service'),
      isBeingDeleted: bool('Whether its data are being deleted'),
      createdAt,
      sites: integer('Sites'),
      ...counted,
    }),
  ),
  'In the order of `sort`',
)

export const domainPage = page(
  'AdminDomains',
  named(
    'AdminDomain',
    object({
      domain: text('The host name'),
      slug,
      owner,
      status: text('`pending` until its DNS records are found', { enum: ['active', 'pending'] }),
      problem,
      createdAt,
      checkedAt: nullable(time('Last check')),
      ...counted,
    }),
  ),
  'In the order of `sort`',
)

export const certificatePage = page(
  'AdminCertificates',
  named(
    'AdminCertificate',
    object({
      name: text('A domain, the host of the service, or a wildcard'),
      issuedAt: nullable(time('When it was issued')),
      expiresAt: nullable(time('When it expires; null before the first one was issued')),
      renewsAt: nullable(time('When it is renewed')),
      nextStepAt: nullable(time('The next step of its order or renewal')),
      failures,
      problem,
    }),
  ),
  'Those without a certificate, then the first to expire; with `q`, by name',
)

const lastRun: Schema = {
  ...object({
    startedAt: time('Start'),
    durationMs: integer('Duration in milliseconds'),
    items: integer('What it affected'),
    error: nullable(text('Why it failed; null after a success')),
  }),
  type: ['object', 'null'],
  description: 'The last run; null before the first one',
}
export const sweepList = named(
  'AdminSweeps',
  object({
    sweeps: list(
      object({
        name: text('Name'),
        description: text('What it does'),
        intervalSeconds: integer('Interval'),
        lastRun,
        failures,
        failedAt: nullable(time('Last failure; null before the first one')),
      }),
      'In the order in which `slipway-server sweep all` runs them',
    ),
  }),
)

export const nodeList = named(
  'AdminNodes',
  object({
    nodes: list(
      object({
        id: text('Identifier'),
        host: text('Name of the machine, and port'),
        release: text('Version of the program'),
        startedAt: time('Start'),
        seenAt: time('Last report'),
        isSilent: bool('Whether reports are overdue'),
        lagSeconds: nullable({
          type: 'number',
          description: 'Age of its view of changes of other nodes; null when it is not known',
        }),
        numbers: {
          type: 'object',
          description: 'Reported metrics by name',
          additionalProperties: { type: 'number' },
        },
      }),
      'The processes that use a shared database, the first started first; empty with SQLite',
    ),
  }),
)
