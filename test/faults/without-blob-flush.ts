import { takeOut } from './careless.ts'

// A control: this service acknowledges blobs that it never flushed.
takeOut('/server/blobs/disk.ts', /\bhandle\.sync\(\)/g, 'Promise.resolve()')
