import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { orderNow } from '../certificates/maintenance.ts'
import { ApiError } from '../lib/errors.ts'
import { toIso } from '../lib/time.ts'
import { dataAction, runAction } from './actions.ts'
import type { Command, CommandContext } from './command.ts'

const renew = dataAction(
  'certificates renew',
  { operands: ['a name of the list or all'] },
  async ({ store, clock }, { value }) => {
    const listed = await store.read.certificates.requested()
    const names = listed
      .filter(({ name, notAfter }) => (value === 'all' ? notAfter !== null : name === value))
      .map(({ name }) => name)
    if (names.length === 0 && value !== 'all')
      throw new ApiError('NOT_FOUND', `The service requests no certificate for ${value}.`)
    await orderNow(store, names, clock())
    return [{ names }, `Due now: ${names.length}. The service orders them within the limits of the CA.`]
  },
)

export const certificates: Command = {
  usage: [
    ['certificates', 'list the certificates with expiry, next check and last error'],
    ['certificates renew NAME|all', 'order a certificate now, or replace all that were issued'],
  ],
  run: (context, args) =>
    args.length === 0 ? listCertificates(context) : runAction('certificates', { renew })(context, args),
}

async function listCertificates(context: CommandContext): Promise<number> {
  const { config } = context
  await using data = await context.openData()
  const certificates = await data.store.read.certificates.requested()
  const file = config.tlsCertFile
  if (file !== '') {
    const { subjectAltName, validToDate } = new X509Certificate(readFileSync(file))
    context.print(
      `${file}: ${subjectAltName ?? 'no names'}, until ${toIso(validToDate.getTime()).slice(0, 10)}\n`,
    )
  }
  if (certificates.length === 0) {
    context.print(`No certificates in ${config.databaseUrl === '' ? config.data : 'the database'}`)
    return 0
  }
  const day = (time: number | null) => (time === null ? '-' : toIso(time).slice(0, 16).replace('T', ' '))
  context.print(`${'NAME'.padEnd(40)} ${'ENDS (UTC)'.padEnd(17)} ${'NEXT CHECK (UTC)'.padEnd(17)} PROBLEM`)
  for (const { name, notAfter, dueAt, problem } of certificates)
    context.print(`${name.padEnd(40)} ${day(notAfter).padEnd(17)} ${day(dueAt).padEnd(17)} ${problem ?? '-'}`)
  return 0
}
