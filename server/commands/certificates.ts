import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { toIso } from '../lib/time.ts'
import type { Command, CommandContext } from './command.ts'

export const certificates: Command = {
  usage: [['certificates', 'list the certificates with expiry, next check and last error']],
  run: listCertificates,
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
