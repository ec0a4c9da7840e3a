/** `server_version_num` of PostgreSQL 13, the oldest version with what the migrations and the store use. */
export const MIN_SERVER_VERSION = 130_000

export const OLD_SERVER = 'version 13 or later is required'
