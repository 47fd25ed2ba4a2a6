import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';

/** A process of its own, so that it can trust a private authority from its start. */
const [endpoint = '', Bucket = '', accessKeyId = '', secretAccessKey = ''] = process.argv.slice(2);
const credentials = { accessKeyId, secretAccessKey };
const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials });
await client.send(new CreateBucketCommand({ Bucket }));
client.destroy();
