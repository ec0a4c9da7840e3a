import { mutateSource } from './careless.ts'

// A control: this service acknowledges blobs that it never flushed.
mutateSource('/server/blobs/disk.ts', /\bhandle\.sync\(\)/g, 'Promise.resolve()')
