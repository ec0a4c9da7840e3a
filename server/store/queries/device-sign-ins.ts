import { sql } from 'kysely'
import { type DeviceSignIn, deviceSignInTable } from '../tables/device-sign-ins.ts'
import { countDeleted, hasDeleted, hasUpdated, QueryGroup } from './query-group.ts'

/** Sign-ins of devices. Hashes are unique. Expired ones stay until they are deleted. */
export class DeviceSignInQueries extends QueryGroup {
  async add(signIn: DeviceSignIn): Promise<void> {
    await this.db.insertInto('device_sign_ins').values(deviceSignInTable.toRow(signIn)).execute()
  }

  async find(deviceHash: string): Promise<DeviceSignIn | undefined> {
    const query = this.db.selectFrom('device_sign_ins').selectAll().where('device_hash', '=', deviceHash)
    return deviceSignInTable.toEntityIfFound(await query.executeTakeFirst())
  }

  async findPending(userCodeHashes: readonly string[], now: number): Promise<DeviceSignIn | undefined> {
    const query = this.db
      .selectFrom('device_sign_ins')
      .selectAll()
      .where('user_code_hash', 'in', userCodeHashes)
      .where('state', '=', 'pending')
      .where('expires_at', '>', now)
    return deviceSignInTable.toEntityIfFound(await query.executeTakeFirst())
  }

  /** Decides a pending sign-in that is valid at `now`; returns whether there was one. */
  async decide(
    userCodeHashes: readonly string[],
    { state, accountId }: Pick<DeviceSignIn, 'state' | 'accountId'>,
    now: number,
  ): Promise<boolean> {
    return hasUpdated(
      this.db
        .updateTable('device_sign_ins')
        .set({ state, account_id: accountId })
        .where('user_code_hash', 'in', userCodeHashes)
        .where('state', '=', 'pending')
        .where('expires_at', '>', now),
    )
  }

  /** Records a poll, unless it is earlier than the interval permits; returns whether it was recorded. */
  async recordPoll(deviceHash: string, now: number): Promise<boolean> {
    return hasUpdated(
      this.db
        .updateTable('device_sign_ins')
        .set({ polled_at: now })
        .where('device_hash', '=', deviceHash)
        .where((e) => e.or([e('polled_at', 'is', null), e(sql`polled_at + interval_ms`, '<=', now)])),
    )
  }

  async setInterval(deviceHash: string, intervalMs: number): Promise<void> {
    await this.db
      .updateTable('device_sign_ins')
      .set({ interval_ms: intervalMs })
      .where('device_hash', '=', deviceHash)
      .execute()
  }

  async remove(deviceHash: string): Promise<boolean> {
    return hasDeleted(this.db.deleteFrom('device_sign_ins').where('device_hash', '=', deviceHash))
  }

  async deleteExpired(now: number, limit: number): Promise<number> {
    const expired = this.db
      .selectFrom('device_sign_ins')
      .select('device_hash')
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
    return countDeleted(this.db.deleteFrom('device_sign_ins').where('device_hash', 'in', expired))
  }
}
