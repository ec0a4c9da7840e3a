import type { Kysely } from 'kysely'

/** The notices that an account has turned off, and the refusal of its address by the mail server. */
export async function up({ schema }: Kysely<unknown>): Promise<void> {
  for (const column of ['notices_off', 'email_refusal'])
    await schema.alterTable('accounts').addColumn(column, 'text').execute()
  await schema.alterTable('accounts').addColumn('email_refused_at', 'bigint').execute()
}

/** By which the certificates of each state are counted without a read of their chains. */
export const certificateStates = [
  { name: 'certificates_states', on: 'certificates (not_after, failures) where unused_since is null' },
]
